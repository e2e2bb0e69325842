#include "training/gnn/kernel_training.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace forerun {
namespace {

std::vector<BatchItem> items_of(const std::vector<GnnRow>& rows, std::span<const std::size_t> chosen) {
  std::vector<BatchItem> items;
  items.reserve(chosen.size());
  for (const std::size_t i : chosen) items.push_back({&rows[i].kernels.graph, rows[i].kernels.device_ms});
  return items;
}

// Per graph: latency, memory, power, energy and the baselines of the latter three; a target of 0 counts nothing.
struct BatchTargets {
  torch::Tensor host_ms;                                          // N x 1
  torch::Tensor eager;                                            // B x 1: 1 for eager rows
  torch::Tensor latency, memory, power, energy;                   // B x 1
  torch::Tensor memory_base, power_base;                          // B x 1
};

BatchTargets targets_of(const std::vector<GnnRow>& rows, std::span<const std::size_t> chosen) {
  std::vector<float> host, eager, latency, memory, power, energy, memory_base, power_base;
  for (const std::size_t i : chosen) {
    const GnnRow& row = rows[i];
    host.insert(host.end(), row.kernels.host_ms.begin(), row.kernels.host_ms.end());
    eager.push_back(row.workload.runtime == Runtime::Graph ? 0.0F : 1.0F);
    latency.push_back(static_cast<float>(row.targets.latency_ms));
    memory.push_back(static_cast<float>(row.targets.memory_mb));
    power.push_back(static_cast<float>(row.targets.power_w));
    energy.push_back(static_cast<float>(row.targets.energy_j));
    memory_base.push_back(static_cast<float>(std::max(1e-3, row.kernels.memory_mb)));
    power_base.push_back(static_cast<float>(std::max(1e-3, row.kernels.power_w)));
  }
  const auto column = [](const std::vector<float>& values) { return torch::tensor(values).unsqueeze(1); };
  return {column(host), column(eager), column(latency), column(memory), column(power), column(energy), column(memory_base), column(power_base)};
}

// Smooth at 0, linear beyond 5 %: outliers (noisy eager rows) do not rule.
torch::Tensor robust(const torch::Tensor& log_error) {
  constexpr double kBend = 0.05;
  return torch::smooth_l1_loss(log_error, torch::zeros_like(log_error), at::Reduction::None, kBend);
}

torch::Tensor loss_of(KernelNet& network, const std::vector<GnnRow>& rows, std::span<const std::size_t> chosen) {
  const GraphBatch batch = make_batch(items_of(rows, chosen));
  const BatchTargets t = targets_of(rows, chosen);
  const KernelNetOutput out = network.forward(batch);
  const torch::Tensor node = out.node.clamp(-kGnnLogLimit, kGnnLogLimit).exp(), graph = out.graph.clamp(-kGnnLogLimit, kGnnLogLimit);
  const torch::Tensor device = sum_pool(batch.weights * node.narrow(1, 0, 1), batch).clamp_min(1e-9);
  const torch::Tensor host = sum_pool(t.host_ms * node.narrow(1, 1, 1), batch).clamp_min(1e-9);
  // log of (device^p + host^p)^(1/p), kept away from overflow
  const torch::Tensor both = torch::logaddexp(device.log() * kGnnOverlapPower, host.log() * kGnnOverlapPower) / kGnnOverlapPower;
  const torch::Tensor latency = t.eager * both + (1 - t.eager) * device.log();
  const auto part = [](const torch::Tensor& log_value, const torch::Tensor& target, double weight) {
    const torch::Tensor known = (target > 0).to(torch::kFloat);
    return (robust(log_value - target.clamp_min(1e-6).log()) * known).sum() * weight;
  };
  const torch::Tensor power = t.power_base.log() + graph.narrow(1, 1, 1);
  return part(latency, t.latency, 1.0) + part(t.memory_base.log() + graph.narrow(1, 0, 1), t.memory, 0.5) + part(power, t.power, 0.5) +
         part(power + latency - std::log(1e3) + graph.narrow(1, 2, 1), t.energy, 0.3);
}

KernelNetOptions shape_of(const GraphTensors& graph, const KernelTrainingOptions& options) {
  return {options.kind, graph.node_width, static_cast<std::int64_t>(graph.globals.size()), options.width, options.layers, options.dropout};
}

// The loss over positions in `train`. REQUIRES: all three outlive it
LossOfItems loss_on(KernelNet& network, const std::vector<GnnRow>& rows, const RowIndices& train) {
  return [&](std::span<const std::size_t> items, std::uint64_t) {
    std::vector<std::size_t> chosen;
    for (const std::size_t i : items) chosen.push_back(train[i]);
    return loss_of(network, rows, chosen);
  };
}

void add_score(Scores& scores, const std::string& name, std::size_t row, double predicted, double measured) {
  if (measured <= 0) return;
  Scored& scored = scores[name];
  scored.predicted.push_back(predicted);
  scored.measured.push_back(measured);
  scored.rows.push_back(row);
}

void add_scores(Scores& scores, const GnnRow& row, std::size_t index, const GnnTargets& predicted) {
  const std::string prefix = row.workload.training ? "training " : "";
  add_score(scores, row.latency_name, index, predicted.latency_ms, row.targets.latency_ms);
  add_score(scores, prefix + "memory_mb", index, predicted.memory_mb, row.targets.memory_mb);
  add_score(scores, prefix + "power_w", index, predicted.power_w, row.targets.power_w);
  add_score(scores, prefix + "energy_j", index, predicted.energy_j, row.targets.energy_j);
}

}  // namespace

Result<TrainedKernelNet> train_kernel_net(const std::vector<GnnRow>& rows, const RowIndices& train, const RowIndices& valid,
                                          const KernelTrainingOptions& options, const ReportEpoch& report, ProcessGroup* group, KernelNet* start) {
  if (train.empty()) return bad_input("no measured rows to train a graph network on");
  torch::manual_seed(options.fit.seed);
  const Scaling scaling = start != nullptr ? start->scaling() : measure_scaling(items_of(rows, train));
  TrainedKernelNet trained{std::make_shared<KernelNet>(shape_of(rows[train.front()].kernels.graph, options), scaling), {}};
  KernelNet& network = *trained.network;
  if (start != nullptr) {
    const torch::NoGradGuard guard;
    const auto from = start->parameters();
    auto to = network.parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
  }
  const LossOfItems loss = loss_on(network, rows, train);
  const auto validate = [&]() -> double {
    double sum = 0;
    for (std::size_t at = 0; at < valid.size(); at += 64) {
      sum += loss_of(network, rows, std::span(valid).subspan(at, std::min<std::size_t>(64, valid.size() - at))).item<double>();
    }
    return sum / static_cast<double>(valid.size());
  };
  FORERUN_TRY(trained.fit, fit(network, train.size(), loss, valid.empty() ? std::function<double()>() : validate, options.fit, report, group));
  return trained;
}

Result<double> find_kernel_net_rate(const std::vector<GnnRow>& rows, const RowIndices& train, const KernelTrainingOptions& options) {
  if (train.empty()) return bad_input("no measured rows to train a graph network on");
  torch::manual_seed(options.fit.seed);
  KernelNet network(shape_of(rows[train.front()].kernels.graph, options), measure_scaling(items_of(rows, train)));
  return find_learning_rate(network, train.size(), loss_on(network, rows, train), options.fit);
}

Result<BundleWriter> write_kernel_bundle(KernelNet& network, const std::vector<GnnRow>& rows, const RowIndices& calibration, BundleManifest manifest) {
  round_to_half(network);
  manifest.schema = kernel_schema();
  manifest.metrics = {"latency_ms", "memory_mb", "power_w", "energy_j"};
  manifest.parts["roofline"] = std::to_string(roofline_hash());
  manifest.parts["conformal"] = "{}";
  const ProgramWriter program = network.write();
  FORERUN_TRY(const BundleWriter draft, program.bundle(manifest));
  FORERUN_TRY(const std::string bytes, draft.bytes());
  FORERUN_TRY(const Bundle bundle, Bundle::from_bytes(bytes, manifest.name));
  FORERUN_TRY(const Scores scores, score_bundle(bundle, rows, calibration));
  // Split conformal prediction: the ceil((n+1) 0.9)-th smallest |log error| of rows the network was not fitted to.
  nlohmann::json table = nlohmann::json::object();
  for (const auto& [metric, scored] : scores) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < scored.measured.size(); ++i) errors.push_back(std::abs(std::log(scored.predicted[i] / scored.measured[i])));
    std::sort(errors.begin(), errors.end());
    const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(errors.size() + 1)));
    if (errors.size() >= 10) table[metric] = errors[std::min(rank, errors.size()) - 1];
  }
  manifest.parts["conformal"] = table.dump();
  return program.bundle(std::move(manifest));
}

double Scored::mape() const {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) sum += std::abs(predicted[i] / measured[i] - 1);
  return measured.empty() ? 0 : 100 * sum / static_cast<double>(measured.size());
}

double Scored::rmse() const {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) sum += (predicted[i] - measured[i]) * (predicted[i] - measured[i]);
  return measured.empty() ? 0 : std::sqrt(sum / static_cast<double>(measured.size()));
}

double Scored::rmspe() const {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) sum += (predicted[i] / measured[i] - 1) * (predicted[i] / measured[i] - 1);
  return measured.empty() ? 0 : 100 * std::sqrt(sum / static_cast<double>(measured.size()));
}

Result<Scores> score_bundle(const Bundle& bundle, const std::vector<GnnRow>& rows, const RowIndices& test) {
  FORERUN_TRY(const GnnPredictor predictor, GnnPredictor::load(bundle));
  std::vector<GnnPredictor::Input> inputs;
  for (const std::size_t i : test) inputs.push_back({&rows[i].kernels, rows[i].workload});
  const std::vector<Result<GnnAnswer>> answers = predictor.answer_many(inputs);
  Scores scores;
  for (std::size_t k = 0; k < test.size(); ++k) {
    if (!answers[k]) return answers[k].error();
    const GnnAnswer& answer = *answers[k];
    add_scores(scores, rows[test[k]], test[k], {answer.latency_ms, answer.memory_mb, answer.power_w, answer.energy_j});
  }
  return scores;
}

Scores score_roofline(const std::vector<GnnRow>& rows, const RowIndices& test) {
  Scores scores;
  for (const std::size_t i : test) {
    const GnnRow& row = rows[i];
    add_scores(scores, row, i, {row.roofline_latency_ms, row.kernels.memory_mb, row.kernels.power_w, row.kernels.power_w * row.roofline_latency_ms / 1e3});
  }
  return scores;
}

}  // namespace forerun
