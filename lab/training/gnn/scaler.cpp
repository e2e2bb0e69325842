#include "training/gnn/scaler.hpp"

namespace forerun {
namespace {

// Columns stay within so many deviations: a rare value must not shake a whole network.
constexpr double kLargest = kStepLimit;

torch::Tensor deviation_of(const torch::Tensor& sum, const torch::Tensor& squares, double count) {
  const torch::Tensor variance = squares / count - (sum / count).pow(2);
  const torch::Tensor deviation = variance.clamp_min(0).sqrt().to(torch::kFloat);
  return torch::where(deviation < 1e-4, torch::ones_like(deviation), deviation);
}

}  // namespace

Scaling measure_scaling(std::span<const BatchItem> items) {
  // In passes over single graphs: all of them at once would not fit into memory.
  const auto node_width = static_cast<std::int64_t>(items.front().graph->node_width),
             global_width = static_cast<std::int64_t>(items.front().graph->globals.size());
  std::vector<double> node_sum(static_cast<std::size_t>(node_width)),
      node_squares = node_sum, global_sum(static_cast<std::size_t>(global_width)), global_squares = global_sum;
  double nodes = 0;
  for (const BatchItem& item : items) {
    const std::vector<float>& features = item.graph->node_features;
    for (std::size_t i = 0; i < features.size(); ++i) {
      const double x = features[i];
      node_sum[i % node_sum.size()] += x;
      node_squares[i % node_sum.size()] += x * x;
    }
    for (std::size_t i = 0; i < global_sum.size(); ++i) {
      const double x = item.graph->globals[i];
      global_sum[i] += x;
      global_squares[i] += x * x;
    }
    nodes += item.graph->nodes;
  }
  const auto graphs = static_cast<double>(items.size());
  const auto tensor = [](const std::vector<double>& numbers) { return torch::tensor(numbers, torch::kDouble); };
  return {(tensor(node_sum) / nodes).to(torch::kFloat), deviation_of(tensor(node_sum), tensor(node_squares), nodes),
          (tensor(global_sum) / graphs).to(torch::kFloat),
          deviation_of(tensor(global_sum), tensor(global_squares), graphs)};
}

Scaler::Scaler(const Scaling& scaling) : scaling_(scaling) {
  if (!scaling.node_mean.defined()) return;
  node_mean_ = register_buffer("node_mean", scaling.node_mean.clone());
  node_scale_ = register_buffer("node_scale", 1 / scaling.node_deviation);
  global_mean_ = register_buffer("global_mean", scaling.global_mean.clone());
  global_scale_ = register_buffer("global_scale", 1 / scaling.global_deviation);
}

torch::Tensor Scaler::nodes(const GraphBatch& batch) const {
  return node_mean_.defined() ? ((batch.nodes - node_mean_) * node_scale_).clamp(-kLargest, kLargest) : batch.nodes;
}

torch::Tensor Scaler::globals(const GraphBatch& batch) const {
  return global_mean_.defined() ? ((batch.globals - global_mean_) * global_scale_).clamp(-kLargest, kLargest)
                                : batch.globals;
}

std::int32_t Scaler::write_nodes(ProgramWriter& writer, const std::string& name) const {
  if (!node_mean_.defined()) return kNodesRegister;
  return writer.step(StepKind::Limit,
                     {writer.standardize(kNodesRegister, scaling_.node_mean, scaling_.node_deviation, name)}, {});
}

std::int32_t Scaler::write_globals(ProgramWriter& writer, const std::string& name) const {
  if (!global_mean_.defined()) return kGlobalsRegister;
  return writer.step(StepKind::Limit,
                     {writer.standardize(kGlobalsRegister, scaling_.global_mean, scaling_.global_deviation, name)}, {});
}

}  // namespace forerun
