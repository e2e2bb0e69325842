// Features on a logarithmic scale, for networks that learn from sizes of many magnitudes.
#pragma once

#include <cmath>

#include "features/graph_tensors.hpp"

namespace forerun {

// log(1 + x) of every feature. REQUIRES: features that are not negative
[[nodiscard]] inline GraphTensors with_log_features(GraphTensors graph) {
  for (float& x : graph.node_features) x = std::log1p(x);
  for (float& x : graph.globals) x = std::log1p(x);
  return graph;
}

}  // namespace forerun
