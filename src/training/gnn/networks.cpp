#include "training/gnn/networks.hpp"

#include <random>

namespace forerun {
namespace {

torch::Tensor scaled(const torch::Tensor& x, const torch::Tensor& mean, const torch::Tensor& deviation) {
  return mean.defined() ? (x - mean.to(x.options())) / deviation.to(x.options()) : x;
}

std::int32_t write_scaled(ProgramWriter& writer, std::int32_t input, const torch::Tensor& mean, const torch::Tensor& deviation, const std::string& name) {
  return mean.defined() ? writer.standardize(input, mean, deviation, name) : input;
}

torch::Tensor normalized(const torch::Tensor& x) { return x / x.norm(2, 1, true).clamp_min(1e-12); }

std::string numbered(const char* name, std::size_t i) { return name + std::to_string(i); }

}  // namespace

Scaling measure_scaling(std::span<const BatchItem> items) {
  const GraphBatch batch = make_batch(items);
  const auto deviation_of = [](const torch::Tensor& x) {
    const torch::Tensor deviation = x.to(torch::kDouble).std(0, false).to(torch::kFloat);
    return torch::where(deviation < 1e-4, torch::ones_like(deviation), deviation);
  };
  return {batch.nodes.mean(0), deviation_of(batch.nodes), batch.globals.mean(0), deviation_of(batch.globals)};
}

InferenceNet::InferenceNet(const InferenceNetOptions& options, Scaling scaling) : options_(options), scaling_(std::move(scaling)) {
  const bool has_graph = options.kind != LayerKind::Count;
  for (std::size_t i = 0; has_graph && i < 6; ++i) {
    layers_.push_back(register_module(numbered("graph", i), make_layer(options.kind, i == 0 ? options.node_width : options.width, options.width)));
  }
  std::int64_t in = options.global_width + (has_graph ? options.width : 0);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t out = i == 3 ? options.outputs : options.width;
    dense_.push_back(register_module(numbered("dense", i), torch::nn::Linear(in, out)));
    in = out;
  }
}

torch::Tensor InferenceNet::forward(const GraphBatch& batch) {
  torch::Tensor row = scaled(batch.globals, scaling_.global_mean, scaling_.global_deviation);
  if (!layers_.empty()) {
    torch::Tensor x = scaled(batch.nodes, scaling_.node_mean, scaling_.node_deviation);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->forward(x, batch);
      if (options_.kind == LayerKind::Sage) x = normalized(x);
      x = torch::relu(x);
      if (i % 2 == 1) x = torch::dropout(x, options_.dropout, is_training());
    }
    row = torch::cat({sum_pool(x, batch), row}, 1);
  }
  for (std::size_t i = 0; i < 3; ++i) row = torch::dropout(torch::relu(dense_[i](row)), options_.dropout, is_training());
  row = dense_[3](row);
  return options_.positive ? -torch::log_sigmoid(row) : row;
}

ProgramWriter InferenceNet::write() const {
  ProgramWriter writer(static_cast<std::int32_t>(options_.node_width), static_cast<std::int32_t>(options_.global_width));
  std::int32_t row = write_scaled(writer, kGlobalsRegister, scaling_.global_mean, scaling_.global_deviation, "globals");
  if (!layers_.empty()) {
    std::int32_t x = write_scaled(writer, kNodesRegister, scaling_.node_mean, scaling_.node_deviation, "nodes");
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->write(writer, x, numbered("graph", i));
      if (options_.kind == LayerKind::Sage) x = writer.step(StepKind::Normalize, {x}, {});
      x = writer.step(StepKind::Relu, {x}, {});
    }
    row = writer.step(StepKind::Concat, {writer.step(StepKind::SumPool, {x}, {}), row}, {});
  }
  for (std::size_t i = 0; i < 3; ++i) row = writer.step(StepKind::Relu, {writer.linear(row, dense_[i], numbered("dense", i))}, {});
  row = writer.linear(row, dense_[3], "dense3");
  writer.set_outputs({options_.positive ? writer.step(StepKind::NegLogSigmoid, {row}, {}) : row});
  return writer;
}

GraphEncoder::GraphEncoder(std::int64_t in, std::int64_t width, Scaling scaling, double dropout)
    : width_(width), dropout_(dropout), scaling_(std::move(scaling)) {
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t out = i == 0 ? 2 * width : width;
    layers_.push_back(register_module(numbered("encoder", i), make_layer(LayerKind::Sage, in, out)));
    norms_.push_back(register_module(numbered("norm", i), torch::nn::BatchNorm1d(out)));
    in = out;
  }
}

torch::Tensor GraphEncoder::forward(const GraphBatch& batch) {
  torch::Tensor x = scaled(batch.nodes, scaling_.node_mean, scaling_.node_deviation);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = norms_[i](layers_[i]->forward(x, batch));
    if (i + 1 < layers_.size()) x = torch::dropout(torch::relu(x), dropout_, is_training());
  }
  return x;
}

std::int32_t GraphEncoder::write(ProgramWriter& writer) const {
  std::int32_t x = write_scaled(writer, kNodesRegister, scaling_.node_mean, scaling_.node_deviation, "encoder");
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = writer.batch_norm(layers_[i]->write(writer, x, numbered("encoder", i)), norms_[i], numbered("norm", i));
    if (i + 1 < layers_.size()) x = writer.step(StepKind::Relu, {x}, {});
  }
  return x;
}

torch::Tensor reconstruction_loss(const torch::Tensor& embedding, const GraphBatch& batch, std::uint64_t seed) {
  // Ends of a graph's nodes, to draw pairs inside of it.
  const torch::Tensor graph_of = batch.graph_of.cpu(), targets = batch.target.cpu();
  std::vector<std::int64_t> begin(static_cast<std::size_t>(batch.graphs) + 1, 0);
  for (std::int64_t i = 0; i < graph_of.size(0); ++i) begin[static_cast<std::size_t>(graph_of.data_ptr<std::int64_t>()[i]) + 1] = i + 1;
  std::mt19937_64 random(seed);
  torch::Tensor a = torch::empty_like(targets), b = torch::empty_like(targets);
  for (std::int64_t e = 0; e < targets.size(0); ++e) {
    const auto graph = static_cast<std::size_t>(graph_of.data_ptr<std::int64_t>()[targets.data_ptr<std::int64_t>()[e]]);
    const auto count = static_cast<std::uint64_t>(begin[graph + 1] - begin[graph]);
    a.data_ptr<std::int64_t>()[e] = begin[graph] + static_cast<std::int64_t>(random() % count);
    b.data_ptr<std::int64_t>()[e] = begin[graph] + static_cast<std::int64_t>(random() % count);
  }
  const auto agreement = [&](const torch::Tensor& from, const torch::Tensor& to) {
    return torch::sigmoid((embedding.index_select(0, from.to(embedding.device())) * embedding.index_select(0, to.to(embedding.device()))).sum(1));
  };
  constexpr double kEpsilon = 1e-15;
  return -(agreement(batch.source, batch.target) + kEpsilon).log().mean() - (1 - agreement(a, b) + kEpsilon).log().mean();
}

TrainingNet::TrainingNet(std::int64_t node_width, std::int64_t global_width, std::int64_t width, std::shared_ptr<GraphEncoder> encoder, Scaling scaling)
    : node_width_(node_width), global_width_(global_width), encoder_(std::move(encoder)), scaling_(std::move(scaling)) {
  layers_.push_back(register_module("graph0", make_layer(LayerKind::Sage, node_width, width)));
  layers_.push_back(register_module("graph1", make_layer(LayerKind::Sage, width, width)));
  const std::int64_t joined = width + (encoder_ ? encoder_->width() : 0) + global_width;
  dense_.push_back(register_module("dense0", torch::nn::Linear(joined, width)));
  dense_.push_back(register_module("dense1", torch::nn::Linear(width, width)));
  dense_.push_back(register_module("dense2", torch::nn::Linear(width, 1)));
}

torch::Tensor TrainingNet::forward(const GraphBatch& batch) {
  torch::Tensor x = scaled(batch.nodes, scaling_.node_mean, scaling_.node_deviation);
  for (const auto& layer : layers_) x = torch::relu(layer->forward(x, batch));
  std::vector<torch::Tensor> parts = {sum_pool(x, batch)};
  if (encoder_) {
    const torch::NoGradGuard guard;
    encoder_->eval();
    parts.push_back(sum_pool(encoder_->forward(batch), batch));
  }
  parts.push_back(scaled(batch.globals, scaling_.global_mean, scaling_.global_deviation));
  torch::Tensor row = torch::cat(parts, 1);
  for (std::size_t i = 0; i < 2; ++i) row = torch::relu(dense_[i](row));
  return dense_[2](row);
}

ProgramWriter TrainingNet::write() const {
  ProgramWriter writer(static_cast<std::int32_t>(node_width_), static_cast<std::int32_t>(global_width_));
  std::int32_t x = write_scaled(writer, kNodesRegister, scaling_.node_mean, scaling_.node_deviation, "nodes");
  for (std::size_t i = 0; i < layers_.size(); ++i) x = writer.step(StepKind::Relu, {layers_[i]->write(writer, x, numbered("graph", i))}, {});
  std::vector<std::int32_t> parts = {writer.step(StepKind::SumPool, {x}, {})};
  if (encoder_) parts.push_back(writer.step(StepKind::SumPool, {encoder_->write(writer)}, {}));
  parts.push_back(write_scaled(writer, kGlobalsRegister, scaling_.global_mean, scaling_.global_deviation, "globals"));
  std::int32_t row = writer.step(StepKind::Concat, parts, {});
  for (std::size_t i = 0; i < 2; ++i) row = writer.step(StepKind::Relu, {writer.linear(row, dense_[i], numbered("dense", i))}, {});
  writer.set_outputs({writer.linear(row, dense_[2], "dense2")});
  return writer;
}

KernelNet::KernelNet(const KernelNetOptions& options, Scaling scaling) : options_(options), scaling_(std::move(scaling)) {
  const std::int64_t width = options.width;
  from_node_ = register_module("from_node", torch::nn::Linear(options.node_width, width));
  from_globals_ = register_module("from_globals", torch::nn::Linear(options.global_width, width));
  for (int i = 0; i < options.layers; ++i) {
    layers_.push_back(register_module(numbered("graph", static_cast<std::size_t>(i)), make_layer(options.kind, width, width)));
  }
  node_hidden_ = register_module("node_hidden", torch::nn::Linear(width, width));
  node_out_ = register_module("node_out", torch::nn::Linear(width, 2));
  graph_hidden_ = register_module("graph_hidden", torch::nn::Linear(width + options.global_width, width));
  graph_out_ = register_module("graph_out", torch::nn::Linear(width, 3));
  const torch::NoGradGuard guard;
  for (torch::nn::Linear* head : {&node_out_, &graph_out_}) {  // starts as the roofline itself
    (*head)->weight.mul_(0.05);
    (*head)->bias.zero_();
  }
}

torch::Tensor KernelNet::embed(const GraphBatch& batch) {
  const torch::Tensor nodes = scaled(batch.nodes, scaling_.node_mean, scaling_.node_deviation);
  const torch::Tensor globals = scaled(batch.globals, scaling_.global_mean, scaling_.global_deviation);
  torch::Tensor h = torch::relu(from_node_(nodes) + from_globals_(globals).index_select(0, batch.graph_of));
  for (const auto& layer : layers_) h = h + torch::dropout(torch::relu(layer->forward(h, batch)), options_.dropout, is_training());
  return h;
}

KernelNetOutput KernelNet::forward(const GraphBatch& batch) {
  const torch::Tensor h = embed(batch);
  const torch::Tensor globals = scaled(batch.globals, scaling_.global_mean, scaling_.global_deviation);
  const torch::Tensor row = torch::cat({weighted_mean_pool(h, batch), globals}, 1);
  return {node_out_(torch::relu(node_hidden_(h))), graph_out_(torch::relu(graph_hidden_(row)))};
}

ProgramWriter KernelNet::write() const {
  ProgramWriter writer(static_cast<std::int32_t>(options_.node_width), static_cast<std::int32_t>(options_.global_width));
  const std::int32_t nodes = write_scaled(writer, kNodesRegister, scaling_.node_mean, scaling_.node_deviation, "nodes");
  const std::int32_t globals = write_scaled(writer, kGlobalsRegister, scaling_.global_mean, scaling_.global_deviation, "globals");
  const std::int32_t spread = writer.step(StepKind::Broadcast, {writer.linear(globals, from_globals_, "from_globals")}, {});
  std::int32_t h = writer.step(StepKind::Relu, {writer.step(StepKind::Add, {writer.linear(nodes, from_node_, "from_node"), spread}, {})}, {});
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    h = writer.step(StepKind::Add, {h, writer.step(StepKind::Relu, {layers_[i]->write(writer, h, numbered("graph", i))}, {})}, {});
  }
  const std::int32_t row = writer.step(StepKind::Concat, {writer.step(StepKind::WeightedMean, {h}, {}), globals}, {});
  const std::int32_t node = writer.linear(writer.step(StepKind::Relu, {writer.linear(h, node_hidden_, "node_hidden")}, {}), node_out_, "node_out");
  const std::int32_t graph = writer.linear(writer.step(StepKind::Relu, {writer.linear(row, graph_hidden_, "graph_hidden")}, {}), graph_out_, "graph_out");
  writer.set_outputs({node, graph});
  return writer;
}

}  // namespace forerun
