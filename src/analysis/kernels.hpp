// The kernels a runtime launches for a costed graph: PyTorch's operators regrouped from what exporters take apart
// (layer norm, GELU, attention, …), views dropped, in execution order; for training, backward and optimiser too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel_token.hpp"
#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

// clang-format off
enum class KernelClass : std::uint8_t {
  Conv, DepthwiseConv, ConvTranspose, Linear, BatchedMatMul, Attention, Experts, Recurrent,
  BatchNorm, LayerNorm, Softmax, Elementwise, Pool, Reduce, Embedding, Copy, Optimizer, Other, Count,
};
// clang-format on
[[nodiscard]] std::string_view name_of(KernelClass kernel_class);
[[nodiscard]] inline bool is_convolution(KernelClass kernel_class) {
  return kernel_class == KernelClass::Conv || kernel_class == KernelClass::ConvTranspose;
}
[[nodiscard]] inline bool is_matrix_product(KernelClass kernel_class) {
  return kernel_class == KernelClass::Linear || kernel_class == KernelClass::BatchedMatMul;
}

enum class Stage : std::uint8_t { Forward, Backward, Update };

// Which arithmetic unit does the work, and in which number format.
// clang-format off
enum class Math : std::uint8_t { Fp64, Fp32, Tf32Tensor, Fp16Tensor, Bf16Tensor, Fp8Tensor, Int8Tensor, Int4Tensor, Fp16, Bf16, Count };
// clang-format on

// One dependent step of a thread, a load from memory above all (170 to 200 ns on the H200 as long as the data is in its
// L2).
inline constexpr double kSerialStepUs = 0.18;

struct Kernel {
  KernelClass kernel_class = KernelClass::Other;
  Stage stage = Stage::Forward;
  Math math = Math::Fp32;
  NodeId node = -1;  // the main node in its block; -1 for the optimiser
  std::int32_t block = 0;
  const char* label = "";  // operator that names it: "Conv", "layer_norm", …; static storage or the graph's
  double runs = 1;         // executions in one pass
  double launches = 1;     // GPU kernels PyTorch launches for one execution
  double host_ops = 1;     // operators PyTorch's host side dispatches for one execution
  // of one execution
  double macs = 0, flops = 0;
  double read_bytes = 0, write_bytes = 0, weight_bytes = 0;  // weight_bytes is part of read_bytes
  double output_elements = 0;
  // product view of convolutions, matrix products and attention: batch x (m x k)(k x n)
  double batch = 1, m = 0, n = 0, k = 0;
  // convolutions
  double kernel_area = 1, stride = 1, groups = 1, input_channels = 0, output_channels = 0, spatial = 0;
  // norms, softmax, reductions: elements reduced together
  double inner = 0;
  double serial_steps = 0;  // dependent steps of its longest thread, where those and not the work decide (bilinear
                            // upsampling, attention in float32)
  bool causal = false;
  bool biased = false;  // a product with a bias, added inside or after it
  bool in_step =
      false;  // launched by an eager training step: the gap to the next kernel is longer than inside a CUDA graph
};

// The label of a convolution whose input lies channels last already: it needs no change of layout and leaves its output
// so.
inline constexpr const char* kChannelsLastConv = "conv_channels_last";

// REQUIRES: count_costs. Sizes are for `precision` (a float32 file run in fp16 moves half the bytes). Incomplete once
// `cancel` has stopped: callers look at it afterwards.
[[nodiscard]] std::vector<Kernel> list_kernels(const Graph& graph, const Workload& workload,
                                               const CancelToken& cancel = {});

}  // namespace forerun
