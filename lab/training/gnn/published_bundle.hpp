// A trained published design as the bundle that ships, with intervals from the networks that were set aside for them.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "predictors/gnn/published_predictor.hpp"
#include "training/gnn/published_training.hpp"

namespace forerun {

struct PublishedBundle {
  std::string bytes;
  // Of the items of the last split, through the code that ships: by item, then output; empty where the item was learned
  // from.
  std::vector<std::vector<double>> answers;
  std::vector<double> half_widths;  // by output; 0: too few networks for an interval, and it is not answered
};
// REQUIRES: a run with its weights kept, by the recipe named, of the set's last split.
[[nodiscard]] Result<PublishedBundle> make_published_bundle(PublishedDesign design, const PublishedSet& set,
                                                            const PublishedRun& run, Pool pool, std::int64_t width);

}  // namespace forerun
