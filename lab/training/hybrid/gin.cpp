#include "training/hybrid/gin.hpp"

namespace forerun {

GinBatch make_gin_batch(std::span<const GraphTensors* const> graphs) {
  std::vector<torch::Tensor> features;
  std::vector<std::int64_t> from, to, graph_of;
  std::int64_t start = 0;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const GraphTensors& graph = *graphs[g];
    features.push_back(torch::tensor(graph.node_features).reshape({graph.nodes, graph.node_width}));
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
      graph_of.push_back(std::int64_t(g));
      for (const std::int32_t source : graph.sources.row(node)) {
        from.push_back(start + source);
        to.push_back(start + node);
      }
    }
    start += graph.nodes;
  }
  return {torch::cat(features), torch::tensor(from, torch::kLong), torch::tensor(to, torch::kLong),
          torch::tensor(graph_of, torch::kLong), std::int64_t(graphs.size())};
}

GinLayer::GinLayer(std::int64_t in, std::int64_t out) {
  eps = register_parameter("eps", torch::zeros({1}));
  first = register_module("first", torch::nn::Linear(in, out));
  norm = register_module("norm", torch::nn::BatchNorm1d(out));
  bend_first = register_module("bend_first", torch::nn::PReLU());
  second = register_module("second", torch::nn::Linear(out, out));
  bend_second = register_module("bend_second", torch::nn::PReLU());
}

torch::Tensor GinLayer::forward(const torch::Tensor& x, const GinBatch& batch) {
  const torch::Tensor sum = torch::zeros_like(x).index_add(0, batch.to, x.index_select(0, batch.from));
  const torch::Tensor hidden = bend_first(norm(first((1 + eps) * x + sum)));
  return bend_second(second(hidden));
}

GinEncoder::GinEncoder(const GinOptions& chosen) : options(chosen) {
  for (std::int64_t i = 0; i < options.layers; ++i) {
    const std::int64_t in = i == 0 ? options.features : options.width;
    layers.push_back(register_module("layer" + std::to_string(i), std::make_shared<GinLayer>(in, options.width)));
  }
  mask_token_ = register_parameter("mask_token", torch::zeros({1, options.features}));
  to_decoder_ = register_module("to_decoder", torch::nn::Linear(options.width, options.width));
  decoder_ = register_module("decoder", std::make_shared<GinLayer>(options.width, options.features));
}

torch::Tensor GinEncoder::nodes(const GinBatch& batch, const torch::Tensor& x) {
  torch::Tensor h = x;
  for (const auto& layer : layers) h = layer->forward(h, batch);
  return h;
}

torch::Tensor GinEncoder::forward(const GinBatch& batch) {
  const torch::Tensor h = nodes(batch, batch.x);
  const torch::Tensor sum = torch::zeros({batch.graphs, h.size(1)}).index_add(0, batch.graph_of, h);
  const torch::Tensor count = torch::zeros({batch.graphs, 1}).index_add(0, batch.graph_of, torch::ones({h.size(0), 1}));
  return sum / count;
}

torch::Tensor GinEncoder::masked_loss(const GinBatch& batch) {
  const std::int64_t count = batch.x.size(0);
  const std::int64_t masked_count = std::max<std::int64_t>(1, std::int64_t(double(count) * options.mask));
  const torch::Tensor masked = torch::randperm(count, torch::kLong).narrow(0, 0, masked_count);
  const std::int64_t replaced_count = std::int64_t(double(masked_count) * options.replace);
  torch::Tensor x = batch.x.index_copy(0, masked, mask_token_.expand({masked_count, -1}));
  if (replaced_count > 0) {
    const torch::Tensor others = torch::randint(count, {replaced_count}, torch::kLong);
    x = x.index_copy(0, masked.narrow(0, 0, replaced_count), batch.x.index_select(0, others));
  }
  // What is known of masked nodes is hidden from the decoder again.
  const torch::Tensor code = to_decoder_(nodes(batch, x)).index_fill(0, masked, 0);
  const torch::Tensor rebuilt = decoder_->forward(code, batch).index_select(0, masked);
  const torch::Tensor cosine = torch::cosine_similarity(rebuilt, batch.x.index_select(0, masked), 1);
  return (1 - cosine).pow(options.power).mean();
}

}  // namespace forerun
