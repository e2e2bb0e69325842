// The four kinds of graph layers, each with the step that runs it without LibTorch.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "training/gnn/graph_batch.hpp"
#include "training/gnn/program_writer.hpp"

namespace forerun {

enum class LayerKind : std::uint8_t { Sage, Gcn, Gat, Gin, Count };
[[nodiscard]] std::string_view name_of(LayerKind kind);

class GraphLayer : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) = 0;
  // Adds the layer to a program; returns the register of its output.
  virtual std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name) const = 0;
};

// SAGE: x Sᵀ + mean(sources) Nᵀ + b. GCN: symmetric normalisation with self loops. GAT: one head, leaky ReLU 0.2, self
// loops. GIN: two linear layers on x + sum(sources).
[[nodiscard]] std::shared_ptr<GraphLayer> make_layer(LayerKind kind, std::int64_t in, std::int64_t out);

}  // namespace forerun
