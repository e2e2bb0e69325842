// The published designs. Ours: kernel_net.cpp.
#include "training/gnn/networks.hpp"

namespace forerun {
namespace {

torch::Tensor normalized(const torch::Tensor& x) { return x / x.norm(2, -1, true).clamp_min(1e-12); }

std::string numbered(const char* name, std::size_t i) { return name + std::to_string(i); }

torch::Tensor stacked(const torch::Tensor& rows, std::int64_t stack) {
  return rows.dim() == 3 ? rows : rows.unsqueeze(0).expand({stack, -1, -1});
}

torch::Tensor pooled(const torch::Tensor& x, const GraphBatch& batch, Pool pool) {
  if (pool == Pool::Mean) return weighted_mean_pool(x, batch);
  const torch::Tensor sum = sum_pool(x, batch);
  return pool == Pool::LogSum ? torch::log1p(sum.clamp_min(0)) : sum;
}

std::int32_t write_pool(ProgramWriter& writer, std::int32_t x, Pool pool) {
  if (pool == Pool::Mean) return writer.step(StepKind::WeightedMean, {x}, {});
  const std::int32_t sum = writer.step(StepKind::SumPool, {x}, {});
  return pool == Pool::LogSum ? writer.step(StepKind::Log1p, {sum}, {}) : sum;
}

}  // namespace

InferenceNet::InferenceNet(const InferenceNetOptions& options, const Scaling& scaling)
    : options_(options), scaler_(register_module("scaler", std::make_shared<Scaler>(scaling))) {
  const bool has_graph = options.kind != LayerKind::Count;
  for (std::size_t i = 0; has_graph && i < 6; ++i) {
    layers_.push_back(register_module(
        numbered("graph", i),
        make_layer(options.kind, options.stack, i == 0 ? options.node_width : options.width, options.width)));
  }
  std::int64_t in = options.global_width + (has_graph ? options.width : 0);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t out = i == 3 ? options.outputs : options.width;
    dense_.push_back(register_module(numbered("dense", i), std::make_shared<StackedLinear>(options.stack, in, out)));
    in = out;
  }
}

torch::Tensor InferenceNet::forward(const GraphBatch& batch) {
  torch::Tensor row = stacked(scaler_->globals(batch), options_.stack);
  if (!layers_.empty()) {
    torch::Tensor x = scaler_->nodes(batch);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->forward(x, batch);
      if (scales_states()) x = normalized(x);
      x = torch::relu(x);
      if (i % 2 == 1) x = torch::dropout(x, options_.dropout, is_training());
    }
    row = torch::cat({pooled(x, batch, options_.pool), row}, 2);
  }
  for (std::size_t i = 0; i < 3; ++i)
    row = torch::dropout(torch::relu(dense_[i]->forward(row)), options_.dropout, is_training());
  row = dense_[3]->forward(row);
  return options_.positive ? -torch::log_sigmoid(row) : row;
}

ProgramWriter InferenceNet::write(std::int64_t member) const {
  ProgramWriter writer(static_cast<std::int32_t>(options_.node_width),
                       static_cast<std::int32_t>(options_.global_width));
  std::int32_t row = scaler_->write_globals(writer, "globals");
  if (!layers_.empty()) {
    std::int32_t x = scaler_->write_nodes(writer, "nodes");
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->write(writer, x, numbered("graph", i), member);
      if (scales_states()) x = writer.step(StepKind::Normalize, {x}, {});
      x = writer.step(StepKind::Relu, {x}, {});
    }
    row = writer.step(StepKind::Concat, {write_pool(writer, x, options_.pool), row}, {});
  }
  for (std::size_t i = 0; i < 3; ++i)
    row = writer.step(StepKind::Relu, {writer.linear(row, *dense_[i], numbered("dense", i), member)}, {});
  row = writer.linear(row, *dense_[3], "dense3", member);
  writer.set_outputs({options_.positive ? writer.step(StepKind::NegLogSigmoid, {row}, {}) : row});
  return writer;
}

GraphEncoder::GraphEncoder(std::int64_t in, std::int64_t width, const Scaling& scaling, double dropout)
    : width_(width), dropout_(dropout), scaler_(register_module("scaler", std::make_shared<Scaler>(scaling))) {
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t out = i == 0 ? 2 * width : width;
    layers_.push_back(register_module(numbered("encoder", i), make_layer(LayerKind::Sage, 1, in, out)));
    norms_.push_back(register_module(numbered("norm", i), torch::nn::BatchNorm1d(out)));
    in = out;
  }
}

torch::Tensor GraphEncoder::forward(const GraphBatch& batch) {
  torch::Tensor x = scaler_->nodes(batch);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = norms_[i](layers_[i]->forward(x, batch)[0]);
    if (i + 1 < layers_.size()) x = torch::dropout(torch::relu(x), dropout_, is_training());
  }
  return x;
}

torch::Tensor GraphEncoder::embed(const GraphBatch& batch) { return sum_pool(forward(batch).unsqueeze(0), batch)[0]; }

std::int32_t GraphEncoder::write(ProgramWriter& writer) const {
  std::int32_t x = scaler_->write_nodes(writer, "encoder");
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = writer.batch_norm(layers_[i]->write(writer, x, numbered("encoder", i), 0), norms_[i], numbered("norm", i));
    if (i + 1 < layers_.size()) x = writer.step(StepKind::Relu, {x}, {});
  }
  return x;
}

torch::Tensor reconstruction_loss(const torch::Tensor& embedding, const GraphBatch& batch) {
  // Any two nodes of the graph in which an edge ends: a share of its range, drawn evenly.
  const torch::Tensor graph = batch.members.backward.columns.index_select(0, batch.target);
  const torch::Tensor begin = batch.members.forward.offsets.index_select(0, graph);
  const torch::Tensor count = batch.members.forward.offsets.index_select(0, graph + 1) - begin;
  const auto drawn = [&] {
    const torch::Tensor share = torch::rand({batch.target.size(0)}, embedding.options().dtype(torch::kFloat));
    return begin + torch::minimum((share * count).to(torch::kLong), count - 1);
  };
  const auto agreement = [&](const torch::Tensor& from, const torch::Tensor& to) {
    return torch::sigmoid((embedding.index_select(0, from) * embedding.index_select(0, to)).sum(1));
  };
  constexpr double kEpsilon = 1e-15;
  const torch::Tensor a = drawn(), b = drawn();
  return -(agreement(batch.source, batch.target) + kEpsilon).log().mean() -
         (1 - agreement(a, b) + kEpsilon).log().mean();
}

TrainingNet::TrainingNet(const TrainingNetOptions& options, const Scaling& scaling)
    : options_(options), scaler_(register_module("scaler", std::make_shared<Scaler>(scaling))) {
  const std::int64_t k = options.stack, width = options.width;
  layers_.push_back(register_module("graph0", make_layer(LayerKind::Sage, k, options.node_width, width)));
  layers_.push_back(register_module("graph1", make_layer(LayerKind::Sage, k, width, width)));
  dense_.push_back(register_module(
      "dense0", std::make_shared<StackedLinear>(k, width + options.embedding + options.global_width, width)));
  dense_.push_back(register_module("dense1", std::make_shared<StackedLinear>(k, width, width)));
  dense_.push_back(register_module("dense2", std::make_shared<StackedLinear>(k, width, 1)));
  if (!options.embedding_mean.defined()) return;
  embedding_mean_ = register_buffer("embedding_mean", options.embedding_mean.clone());
  embedding_scale_ = register_buffer("embedding_scale", 1 / options.embedding_deviation);
}

torch::Tensor TrainingNet::forward(const GraphBatch& batch, const torch::Tensor& embedding) {
  torch::Tensor x = scaler_->nodes(batch);
  for (const auto& layer : layers_) {
    x = layer->forward(x, batch);
    x = torch::relu(options_.unit_states ? normalized(x) : x);
  }
  std::vector<torch::Tensor> parts = {pooled(x, batch, options_.pool)};
  if (options_.embedding > 0) {
    parts.push_back(stacked(embedding_mean_.defined() ? (embedding - embedding_mean_) * embedding_scale_ : embedding,
                            options_.stack));
  }
  parts.push_back(stacked(scaler_->globals(batch), options_.stack));
  torch::Tensor row = torch::cat(parts, 2);
  for (std::size_t i = 0; i < 2; ++i)
    row = torch::dropout(torch::relu(dense_[i]->forward(row)), options_.dropout, is_training());
  return dense_[2]->forward(row);
}

ProgramWriter TrainingNet::write(std::span<const std::int64_t> members, const GraphEncoder* encoder) const {
  ProgramWriter writer(static_cast<std::int32_t>(options_.node_width),
                       static_cast<std::int32_t>(options_.global_width));
  const std::int32_t nodes = scaler_->write_nodes(writer, "nodes"), globals = scaler_->write_globals(writer, "globals");
  std::int32_t embedding = -1;
  if (encoder != nullptr) {
    embedding = writer.step(StepKind::SumPool, {encoder->write(writer)}, {});
    if (options_.embedding_mean.defined())
      embedding = writer.standardize(embedding, options_.embedding_mean, options_.embedding_deviation, "embedding");
  }
  std::vector<std::int32_t> outputs;
  for (const std::int64_t member : members) {
    const std::string own = members.size() > 1 ? "member" + std::to_string(member) + "." : "";
    std::int32_t x = nodes;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->write(writer, x, own + numbered("graph", i), member);
      if (options_.unit_states) x = writer.step(StepKind::Normalize, {x}, {});
      x = writer.step(StepKind::Relu, {x}, {});
    }
    std::vector<std::int32_t> parts = {write_pool(writer, x, options_.pool)};
    if (embedding >= 0) parts.push_back(embedding);
    parts.push_back(globals);
    std::int32_t row = writer.step(StepKind::Concat, parts, {});
    for (std::size_t i = 0; i < 2; ++i)
      row = writer.step(StepKind::Relu, {writer.linear(row, *dense_[i], own + numbered("dense", i), member)}, {});
    outputs.push_back(writer.linear(row, *dense_[2], own + "dense2", member));
  }
  writer.set_outputs(std::move(outputs));
  return writer;
}

}  // namespace forerun
