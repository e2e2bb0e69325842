// Fits the constants of messages between devices (parallel/collectives.hpp) to public tables: AIConfigurator's NCCL and
// engine all-reduce, Vidur's sends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "parallel/collectives.hpp"

namespace forerun {

struct CollectiveRow {
  std::string device;
  std::size_t collective = 0;  // index into kCollectiveNames
  double ranks = 2, bytes = 0, us = 0;
  double nodes = 1;
};

// One row for each device, collective, number of ranks and size: the median of its repetitions; of engines the least,
// because their tables hold launches from the host beside those inside a graph.
Result<std::vector<CollectiveRow>> load_collectives(const std::string& public_data);

// Two or three protocols per device and collective, whichever is closer; messages of a megabyte and more count twice.
[[nodiscard]] CollectiveConstants fit_collectives(const std::vector<CollectiveRow>& rows,
                                                  const std::function<void(const std::string&)>& say);
[[nodiscard]] std::string to_json(const CollectiveConstants& constants);

}  // namespace forerun
