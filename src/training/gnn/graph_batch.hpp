// Many graphs as one disjoint graph: the form in which LibTorch sees them.
#pragma once

#include <span>
#include <vector>

#include "features/graph_tensors.hpp"
#include "training/gnn/torch.hpp"

namespace forerun {

struct GraphBatch {
  torch::Tensor nodes;      // N x node width
  torch::Tensor source;     // E: edges by target, then source
  torch::Tensor target;     // E
  torch::Tensor in_degree;  // N x 1
  torch::Tensor graph_of;   // N: which graph a node belongs to
  torch::Tensor globals;    // B x global width
  torch::Tensor weights;    // N x 1: node weights of weighted means; ones when none were given
  std::int64_t graphs = 0;

  [[nodiscard]] GraphBatch to(torch::Device device) const;
  [[nodiscard]] GraphBatch to(torch::ScalarType type) const;
};

struct BatchItem {
  const GraphTensors* graph = nullptr;
  std::span<const float> weights;  // per node; empty: ones
};
// REQUIRES: equal widths, at least one item
[[nodiscard]] GraphBatch make_batch(std::span<const BatchItem> items);

// Σ over edges: out[to[e]] += values[from[e]], with `rows` rows. Differentiable in `values`; the order of the sum is that
// of the edges, so a result is repeatable bit for bit on the CPU.
[[nodiscard]] torch::Tensor sum_over_edges(const torch::Tensor& values, const torch::Tensor& from, const torch::Tensor& to, std::int64_t rows);

// Σ of the nodes of each graph: B x width.
[[nodiscard]] torch::Tensor sum_pool(const torch::Tensor& values, const GraphBatch& batch);
[[nodiscard]] torch::Tensor weighted_mean_pool(const torch::Tensor& values, const GraphBatch& batch);

}  // namespace forerun
