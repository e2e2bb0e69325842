// A graph isomorphism network over a network's nodes, and its pre-training by masked node features (GraphMAE).
#pragma once

#include <span>
#include <vector>

#include "features/graph_tensors.hpp"
#include "training/gnn/torch.hpp"

namespace forerun {

// Several graphs as one: node features, edges, the graph of each node.
struct GinBatch {
  torch::Tensor x, from, to, graph_of;  // N x F, E, E, N
  std::int64_t graphs = 0;
};
[[nodiscard]] GinBatch make_gin_batch(std::span<const GraphTensors* const> graphs);

// (1 + eps) x + sum of the sources, then linear, batch norm, PReLU, linear, PReLU.
class GinLayer : public torch::nn::Module {
 public:
  GinLayer(std::int64_t in, std::int64_t out);
  torch::Tensor forward(const torch::Tensor& x, const GinBatch& batch);

  torch::Tensor eps;
  torch::nn::Linear first{nullptr}, second{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::PReLU bend_first{nullptr}, bend_second{nullptr};
};

struct GinOptions {
  std::int64_t features = 0, width = 64, layers = 3;
  double mask = 0.5, replace = 0.1;  // share of nodes masked; of those, share that gets another node's features
  double power = 2;                  // of the scaled cosine error
};

class GinEncoder : public torch::nn::Module {
 public:
  explicit GinEncoder(const GinOptions& options);
  torch::Tensor nodes(const GinBatch& batch, const torch::Tensor& x);  // N x width
  torch::Tensor forward(const GinBatch& batch);                        // graphs x width: the mean over nodes
  // The scaled cosine error of masked nodes' features, rebuilt by one more layer from the others. Draws from torch's
  // generator.
  torch::Tensor masked_loss(const GinBatch& batch);

  GinOptions options;
  std::vector<std::shared_ptr<GinLayer>> layers;

 private:
  torch::Tensor mask_token_;
  std::shared_ptr<GinLayer> decoder_;
  torch::nn::Linear to_decoder_{nullptr};
};

}  // namespace forerun
