// All trainings that the page of the published designs and their bundles need, as tables of recipes in groups that can
// run side by side on one GPU.
#pragma once

#include <array>
#include <string_view>

#include "training/gnn/published_training.hpp"

namespace forerun {

inline constexpr std::array<std::string_view, 4> kPublishedGroups = {"inference", "inference-steps", "training",
                                                                     "training-steps"};

struct PublishedScale {  // of the whole schedule; smaller to try it
  std::int64_t width = 512, shipped_width = 256;
  double epochs = 1;                   // times the epochs of every recipe
  double seconds = 0;                  // for the whole group; 0: as long as it takes
  std::size_t unlabelled = 1'000'000;  // at most so many graphs
};

// Trains a group's recipes in order; `done` gets all runs so far after each. What no longer fits into the time is left
// out.
Status train_published(const PublishedData& data, std::string_view group, const PublishedScale& scale,
                       const PublishedPlace& place,
                       const std::function<Status(const std::vector<PublishedRun>&)>& done);

}  // namespace forerun
