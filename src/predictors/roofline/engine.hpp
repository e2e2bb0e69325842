// A network inside a serving engine (vLLM, SGLang, TensorRT-LLM) instead of a framework.
#pragma once

#include <vector>

#include "analysis/kernels.hpp"
#include "graph/graph.hpp"

namespace forerun {

// The kernels of a serving engine, from those of a framework: KV caches are written in place, copies are removed,
// additions, biases and gate products are fused into neighbouring kernels, and norms, activations and rotary embeddings
// are one kernel each.
[[nodiscard]] std::vector<Kernel> engine_kernels(std::vector<Kernel> kernels, const Graph& graph);

}  // namespace forerun
