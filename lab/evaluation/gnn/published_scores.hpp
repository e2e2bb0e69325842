// Errors of the trained published designs, from the answers that their runs keep.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evaluation/accuracy.hpp"
#include "training/gnn/published_data.hpp"

namespace forerun {

// The split of a member of a run. Inference: one member per split; training: one per target and split. Runs of a single
// split are of the first one, those named "ship…" of the last.
struct ScoredSet {
  const PublishedSet* set = nullptr;
  bool per_target = false;  // members are target by target
};
[[nodiscard]] std::size_t splits_of(const ScoredSet& scored, const PublishedRun& run);

using ItemFilter = std::function<bool(std::size_t item)>;
// Rows of a part of a split, judged for one output. `repeat`: which of the run's splits.
[[nodiscard]] std::vector<Judged> judge_run(const ScoredSet& scored, const PublishedRun& run, std::size_t output,
                                            std::size_t repeat, Part part, const ItemFilter& filter = {});
// MAPE in % over the run's splits.
[[nodiscard]] Repeated mape_of_run(const ScoredSet& scored, const PublishedRun& run, std::size_t output,
                                   std::span<const Part> parts, const ItemFilter& filter = {});
// "6.1 ± 0.3"; "–" where there was no row.
[[nodiscard]] std::string error_cell(const Repeated& error);

// Gradient boosting on the static features alone, as the publications compare with: a run like the others.
[[nodiscard]] Result<PublishedRun> boost_static_features(const ScoredSet& scored, std::size_t splits);

}  // namespace forerun
