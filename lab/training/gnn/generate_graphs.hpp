// Unlabelled graphs for pre-training: networks drawn at random from a few families, with varied widths, depths, kernels
// and resolutions, costed like any other. The same seed gives the same graphs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun {

// The families graphs are drawn from, by index % size.
[[nodiscard]] const std::vector<std::string>& generated_families();
// Graph number `index` of the series `seed`, analysed.
[[nodiscard]] Result<Graph> generate_graph(std::uint64_t seed, std::uint64_t index);

}  // namespace forerun
