// Which values have sizes that only the data decides: their shapes in an analysed graph are the largest possible, or
// one step of a loop.
#pragma once

#include <vector>

#include "graph/graph.hpp"

namespace forerun {

// One entry per value of the graph.
[[nodiscard]] std::vector<bool> sizes_from_data(const Graph& graph);

}  // namespace forerun
