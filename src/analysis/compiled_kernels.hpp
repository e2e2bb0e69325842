// The kernels that torch.compile makes of a network (Inductor, its default mode), from those that PyTorch launches
// eagerly: convolutions, matrix products and attention stay calls of libraries; chains of element-wise operators,
// norms, reductions and copies become fused kernels, which read what comes from outside once and write what is used
// outside once.
#pragma once

#include <vector>

#include "analysis/kernels.hpp"

namespace forerun {

// Labels of fused kernels, and of the copy of a convolution's weight to channels-last order.
inline constexpr const char* kFusedPointwise = "fused";
inline constexpr const char* kFusedNorm = "fused_norm";
inline constexpr const char* kFusedSoftmax = "fused_softmax";
inline constexpr const char* kFusedReduction = "fused_reduction";
inline constexpr const char* kFusedPool = "fused_pool";
inline constexpr const char* kWeightLayout = "weight_layout";

// REQUIRES: `eager` is list_kernels(graph, workload) of an inference.
[[nodiscard]] std::vector<Kernel> compiled_kernels(const Graph& graph, const std::vector<Kernel>& eager);

}  // namespace forerun
