// A network inside a serving engine (vLLM, SGLang, TensorRT-LLM) instead of a framework.
#pragma once

#include <vector>

#include "analysis/kernels.hpp"
#include "graph/graph.hpp"

namespace forerun {

// Of a framework's kernels those an engine still runs: caches are written in place, copies are gone, sums, biases and
// products of gates are part of the kernels beside them; norms, activations and rotations are one kernel each.
[[nodiscard]] std::vector<Kernel> engine_kernels(std::vector<Kernel> kernels, const Graph& graph);

}  // namespace forerun
