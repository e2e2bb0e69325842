// The four kinds of graph layers for a stack of networks, each with the step that runs one member without LibTorch.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "training/gnn/graph_batch.hpp"
#include "training/gnn/program_writer.hpp"
#include "training/gnn/stacked_linear.hpp"

namespace forerun {

// None: no edges, each node by itself.
enum class LayerKind : std::uint8_t { Sage, Gcn, Gat, Gin, None, Count };
[[nodiscard]] std::string_view name_of(LayerKind kind);

class GraphLayer : public torch::nn::Module {
 public:
  // K x N x in to K x N x out; an input of N x in is shared by the stack.
  virtual torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) = 0;
  // Adds one member's layer to a program; returns the register of its output.
  virtual std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name,
                             std::int64_t member) const = 0;
};

// SAGE: x Sᵀ + mean(sources) Nᵀ + b. GCN: symmetric normalisation with self loops. GAT: one head, leaky ReLU 0.2, self
// loops. GIN: two linear layers on x + sum(sources). None: x Wᵀ + b.
[[nodiscard]] std::shared_ptr<GraphLayer> make_layer(LayerKind kind, std::int64_t stack, std::int64_t in,
                                                     std::int64_t out);

}  // namespace forerun
