// The identity of a workload: two runs with the same hash run the same network in the same way, so a measurement of one
// is a measurement of the other. Names, formats and exporters do not matter; shapes, types, attributes and settings do.
#pragma once

#include <string>

#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

// 32 hexadecimal digits. REQUIRES: the graph's free dimensions are bound and its shapes inferred.
// Batch, sequence and phase are in the shapes. The runtime is left out: one measured row holds the eager and the
// graph-replay latency side by side.
[[nodiscard]] std::string workload_hash(const Graph& graph, const Workload& workload);

}  // namespace forerun
