// The forward walk that turns one block's nodes into kernels; list_kernels() in kernels.cpp drives it.
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/kernels.hpp"
#include "graph/graph.hpp"
#include "ops/op_table.hpp"

namespace forerun {

// Producers and consumers of a block's values, with Identity looked through.
class BlockLinks {
 public:
  BlockLinks(const Graph& graph, const Block& block);
  [[nodiscard]] NodeId producer(ValueId value) const;  // -1: none in this block
  [[nodiscard]] const std::vector<NodeId>& consumers(ValueId value) const;
  // The only consumer; -1 when there are several or none.
  [[nodiscard]] NodeId only_consumer(ValueId value) const;
  [[nodiscard]] ValueId origin(ValueId value) const;  // through Identity

 private:
  const Block& block_;
  std::vector<NodeId> producer_;
  std::vector<std::vector<NodeId>> consumers_;
};

// A group of nodes that PyTorch runs as one operator.
enum class Fusion : std::uint8_t { None, LayerNorm, GroupNorm, Gelu, Silu, Attention, LinearBias, PaddedPool };
struct Match {
  Fusion fusion = Fusion::None;
  std::vector<NodeId> nodes;  // in execution order; the kernel stands at the last one
  NodeId main = -1;           // the node that says most: the first product, the reduction, …
  ValueId input = kNoValue, output = kNoValue;
};

// Finds the groups; a node belongs to at most one.
[[nodiscard]] std::vector<Match> match_fusions(const Graph& graph, const Block& block, const BlockLinks& links);
// Each node's match, -1 where it has none.
[[nodiscard]] std::vector<std::int32_t> match_of_nodes(const Block& block, const std::vector<Match>& matches);

// PyTorch's exporter folds a batch norm into the convolution before it and renames the weight; what runs is not folded.
[[nodiscard]] bool is_folded_batch_norm(const Graph& graph, const Node& convolution);
// Adding or dropping dimensions of one element keeps a tensor's strides; merging others copies a strided one.
[[nodiscard]] bool keeps_strides(const Dims& from, const Dims& to);

// How PyTorch's scaled_dot_product_attention runs an Attention node of a configuration.
enum class AttentionPath : std::uint8_t {
  Fused,
  Repeated,  // fused, after keys and values were repeated for every head
  Unfused,   // products and a softmax in float32
  UnfusedRepeated,
};
// Of a match: PyTorch's fused kernels want the elements of a head side by side; elsewhere (a convolution made the
// projections) it takes them apart.
[[nodiscard]] AttentionPath attention_path(const Block& block, const BlockLinks& links, const Match& match);
[[nodiscard]] AttentionPath attention_path(const Graph& graph, const Node& node, const Workload& workload);

// The fused float32 kernel gives each block of queries to one thread block, which walks over the keys (0.105 µs each on
// the H200).
[[nodiscard]] inline double attention_steps(const Kernel& kernel) {
  return kernel.math == Math::Fp32 ? 0.105 / kSerialStepUs * kernel.n : 0;
}

// Elements of one channel of one sample.
[[nodiscard]] inline double plane_of(const Value& image) {
  return image.dims.size() < 3
             ? 1
             : double(elements_of(image)) / std::max(1.0, double(image.dims[0]) * double(image.dims[1]));
}

// Bytes of a floating-point element when a float file runs in this precision.
[[nodiscard]] double activation_bytes(Precision precision);
[[nodiscard]] Math math_of(KernelClass kernel_class, Precision precision, DType weight);

// A batch norm in training is cuDNN's one kernel in float32, else three (statistics, running statistics, values), and
// one that counts its batches. A thread block has one channel and walks over it, forward and backward at these times an
// element (H200).
inline void in_training(Kernel& norm, Precision precision) {
  const bool half = activation_bytes(precision) < 4;
  norm.read_bytes += norm.write_bytes;  // statistics first, then the values
  norm.launches = half ? 4 : 2;
  norm.host_ops += 1;
  norm.serial_steps = (half ? 0.7e-3 : 0.5e-3) / kSerialStepUs * norm.inner;
}
[[nodiscard]] inline double norm_gradient_steps(const Kernel& norm, bool half) {
  return (half ? 1.6e-3 : 1.4e-3) / kSerialStepUs * norm.inner;
}

// Backward and optimiser kernels of a training step, appended to the forward ones.
void append_training(std::vector<Kernel>& kernels, const Graph& graph, const Workload& workload);
// The forward kernels with autocast's own between them.
[[nodiscard]] std::vector<Kernel> with_autocast(const std::vector<Kernel>& kernels);

}  // namespace forerun
