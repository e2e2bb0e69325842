// Many graphs as one disjoint graph, repeated for a stack of networks that train side by side: the form in which
// LibTorch sees them.
#pragma once

#include <span>
#include <vector>

#include "features/graph_tensors.hpp"
#include "training/gnn/torch.hpp"

namespace forerun {

// Who adds to whom, in compressed rows: row r sums the values at columns[offsets[r]] … columns[offsets[r + 1] - 1].
struct SumRows {
  torch::Tensor offsets, columns;  // 64-bit
  [[nodiscard]] std::int64_t rows() const { return offsets.size(0) - 1; }
};
// A sum and its transpose, which carries gradients back.
struct SumPair {
  SumRows forward, backward;
};

// Node states of a stack of K networks are K x N x width; sums see them as K·N rows.
struct GraphBatch {
  torch::Tensor nodes;      // N x node width, shared by the stack
  torch::Tensor globals;    // B x global width, shared by the stack
  torch::Tensor weights;    // N x 1: node weights of weighted means; ones when none were given
  torch::Tensor in_degree;  // N x 1
  torch::Tensor graph_of;   // N: which graph a node belongs to
  torch::Tensor source;     // K·E: edges by target, then source
  torch::Tensor target;     // K·E
  SumPair neighbours;       // K·N rows: the sources of a node
  SumPair members;          // K·B rows: the nodes of a graph
  SumPair edges;            // K·N rows: the edges that end in a node
  std::int64_t graphs = 0;  // B
  std::int64_t stack = 1;   // K

  // The same graphs for a stack of K networks, made on the batch's device. REQUIRES: stack == 1
  [[nodiscard]] GraphBatch repeated(std::int64_t count) const;
  [[nodiscard]] GraphBatch to(torch::Device device) const;
  [[nodiscard]] GraphBatch to(torch::ScalarType type) const;
  [[nodiscard]] std::int64_t node_count() const { return nodes.size(0); }
};

struct BatchItem {
  const GraphTensors* graph = nullptr;
  std::span<const float> weights;  // per node; empty: ones
};
// REQUIRES: equal widths, at least one item
[[nodiscard]] GraphBatch make_batch(std::span<const BatchItem> items);

// Row sums of `values` (R x width). Differentiable in `values`. The order of every sum is that of its columns, so a
// result is repeatable bit for bit, on the CPU and on a GPU.
[[nodiscard]] torch::Tensor sum_rows(const torch::Tensor& values, const SumPair& pair);

// K x N x width to K x N x width: the sum over each node's sources.
[[nodiscard]] torch::Tensor sum_neighbours(const torch::Tensor& values, const GraphBatch& batch);
// K x N x width to K x B x width: the sum over each graph's nodes.
[[nodiscard]] torch::Tensor sum_pool(const torch::Tensor& values, const GraphBatch& batch);
[[nodiscard]] torch::Tensor weighted_mean_pool(const torch::Tensor& values, const GraphBatch& batch);
// K x B x width to K x N x width: every node gets its graph's row.
[[nodiscard]] torch::Tensor spread_to_nodes(const torch::Tensor& rows, const GraphBatch& batch);

}  // namespace forerun
