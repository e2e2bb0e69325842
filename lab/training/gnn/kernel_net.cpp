// Our network. What its heads mean: predictors/gnn/gnn_predictor.hpp.
#include <algorithm>

#include "predictors/gnn/gnn_predictor.hpp"
#include "training/gnn/networks.hpp"

namespace forerun {
namespace {

std::string numbered(const std::string& name, std::size_t i) { return name + std::to_string(i); }

}  // namespace

KernelNet::KernelNet(const KernelNetOptions& options, const Scaling& scaling)
    : options_(options), scaler_(register_module("scaler", std::make_shared<Scaler>(scaling))) {
  const std::int64_t k = options.stack, width = options.width;
  const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
    return register_module(name, std::make_shared<StackedLinear>(k, in, out));
  };
  from_node_ = linear("from_node", options.node_width, width);
  from_settings_ = linear("from_settings", options.settings, width);
  for (int i = 0; i < options.layers; ++i) {
    layers_.push_back(
        register_module(numbered("graph", static_cast<std::size_t>(i)), make_layer(options.kind, k, width, width)));
  }
  node_hidden_ = linear("node_hidden", width, width);
  node_out_ = linear("node_out", width, kGnnNodeHeads);
  graph_hidden_ = linear("graph_hidden", width + options.global_width, width);
  graph_out_ = linear("graph_out", width, kGnnGraphHeads);
  if (std::find(options.without_times.begin(), options.without_times.end(), true) != options.without_times.end()) {
    from_timed_ = register_buffer("from_timed", torch::zeros({k, 1, kGnnNodeHeads}));
    torch::Tensor seen = torch::ones({k, options.node_width, 1});
    for (std::int64_t m = 0; m < k; ++m) {
      if (!options.without_times[static_cast<std::size_t>(m)]) continue;
      from_timed_[m][0][0] = 1;
      seen[m][options.timed_column][0] = 0;
    }
    from_node_->hide(seen);
  }
  const torch::NoGradGuard guard;
  for (const StackedLinearPtr& head : {node_out_, graph_out_}) {  // starts as the roofline itself
    head->weight.mul_(0.05);
    head->bias.zero_();
  }
}

torch::Tensor KernelNet::embed(const GraphBatch& batch) {
  const torch::Tensor settings = from_settings_->forward(scaler_->globals(batch).narrow(1, 0, options_.settings));
  torch::Tensor h = torch::relu(from_node_->forward(scaler_->nodes(batch)) + spread_to_nodes(settings, batch));
  for (const auto& layer : layers_)
    h = h + torch::dropout(layer->forward(h, batch).relu_(), options_.dropout, is_training());
  return h;
}

KernelNetOutput KernelNet::forward(const GraphBatch& batch) {
  const torch::Tensor h = embed(batch);
  torch::Tensor globals = scaler_->globals(batch).unsqueeze(0).expand({options_.stack, -1, -1});
  globals = torch::dropout(globals, options_.global_dropout, is_training());
  const torch::Tensor row = torch::cat({weighted_mean_pool(h, batch), globals}, 2);
  const torch::Tensor hidden =
      torch::dropout(torch::relu(graph_hidden_->forward(row)), options_.dropout, is_training());
  torch::Tensor node = node_out_->forward(torch::relu(node_hidden_->forward(h)));
  if (from_timed_.defined()) node = node - from_timed_ * batch.nodes.narrow(1, options_.timed_column, 1);
  return {node, graph_out_->forward(hidden)};
}

std::shared_ptr<KernelNet> KernelNet::member(std::int64_t index) const {
  KernelNetOptions options = options_;
  options.stack = 1;
  if (!options.without_times.empty()) options.without_times = {options.without_times[static_cast<std::size_t>(index)]};
  auto one = std::make_shared<KernelNet>(options, scaler_->scaling());
  const torch::NoGradGuard guard;
  const auto from = parameters();
  auto to = one->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i].narrow(0, index, 1));
  return one;
}

ProgramWriter KernelNet::write(std::span<const std::int64_t> members) const {
  ProgramWriter writer(static_cast<std::int32_t>(options_.node_width),
                       static_cast<std::int32_t>(options_.global_width));
  const std::int32_t nodes = scaler_->write_nodes(writer, "nodes"), globals = scaler_->write_globals(writer, "globals");
  std::vector<std::int32_t> outputs;
  std::int32_t from_timed = -1;  // the register with what turns ratios to the roofline into ratios to the trees
  for (std::size_t m = 0; m < members.size(); ++m) {
    const std::int64_t member = members[m];
    const std::string prefix = members.size() == 1 ? "" : numbered("member", m) + ".";
    // Columns that nodes do not see have weight 0.
    const torch::Tensor seen = from_settings_->weight_of(member).detach().cpu();
    const torch::Tensor weight =
        torch::cat({seen, torch::zeros({options_.width, options_.global_width - options_.settings})}, 1);
    const std::int32_t settings =
        writer.step(StepKind::Linear, {globals},
                    {writer.tensor(prefix + "from_settings.weight", weight),
                     writer.tensor(prefix + "from_settings.bias", from_settings_->bias_of(member))});
    const std::int32_t spread = writer.step(StepKind::Broadcast, {settings}, {});
    std::int32_t h = writer.step(
        StepKind::Relu,
        {writer.step(StepKind::Add, {writer.linear(nodes, *from_node_, prefix + "from_node", member), spread}, {})},
        {});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      h = writer.step(
          StepKind::Add,
          {h, writer.step(StepKind::Relu, {layers_[i]->write(writer, h, numbered(prefix + "graph", i), member)}, {})},
          {});
    }
    const std::int32_t row = writer.step(StepKind::Concat, {writer.step(StepKind::WeightedMean, {h}, {}), globals}, {});
    const std::int32_t node_hidden =
        writer.step(StepKind::Relu, {writer.linear(h, *node_hidden_, prefix + "node_hidden", member)}, {});
    const std::int32_t graph_hidden =
        writer.step(StepKind::Relu, {writer.linear(row, *graph_hidden_, prefix + "graph_hidden", member)}, {});
    std::int32_t node_out = writer.linear(node_hidden, *node_out_, prefix + "node_out", member);
    if (from_timed_.defined() && options_.without_times[static_cast<std::size_t>(member)]) {
      if (from_timed < 0) {
        torch::Tensor minus = torch::zeros({kGnnNodeHeads, options_.node_width});
        minus[0][options_.timed_column] = -1;
        from_timed = writer.step(StepKind::Linear, {kNodesRegister},
                                 {writer.tensor("from_timed.weight", minus),
                                  writer.tensor("from_timed.bias", torch::zeros({kGnnNodeHeads}))});
      }
      node_out = writer.step(StepKind::Add, {node_out, from_timed}, {});
    }
    outputs.push_back(node_out);
    outputs.push_back(writer.linear(graph_hidden, *graph_out_, prefix + "graph_out", member));
  }
  writer.set_outputs(outputs);
  return writer;
}

}  // namespace forerun
