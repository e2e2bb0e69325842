// From trained members to bundles, and how far a bundle's answers are from what was measured.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/conformal.hpp"
#include "predictors/roofline/roofline.hpp"
#include "training/gnn/kernel_training.hpp"

namespace forerun {
namespace {

void add_score(Scores& scores, const std::string& name, std::size_t row, double predicted, double measured) {
  if (measured <= 0) return;
  Scored& scored = scores[name];
  scored.predicted.push_back(predicted);
  scored.measured.push_back(measured);
  scored.rows.push_back(row);
}

void score_row(Scores& scores, const GnnRow& row, std::size_t index, const GnnTargets& predicted) {
  const std::string_view eager = row.workload.training && !row.alone ? kStep : kLatencyEager;
  add_score(scores, score_name(row, eager), index, predicted.eager_ms, row.targets.eager_ms);
  add_score(scores, score_name(row, kLatencyGraph), index, predicted.graph_ms, row.targets.graph_ms);
  add_score(scores, score_name(row, kMemory), index, predicted.memory_mb, row.targets.memory_mb);
  add_score(scores, score_name(row, kPower), index, predicted.power_w, row.targets.power_w);
  add_score(scores, score_name(row, kEnergy), index, predicted.energy_j, row.targets.energy_j);
  add_score(scores, score_name(row, kPowerGraph), index, predicted.power_graph_w, row.targets.power_graph_w);
  add_score(scores, score_name(row, kEnergyGraph), index, predicted.energy_graph_j, row.targets.energy_graph_j);
}

}  // namespace

std::string score_name(const GnnRow& row, std::string_view metric) {
  return (row.alone ? "operators" : std::string(name_of(row.domain))) + " " + std::string(metric);
}

Result<BundleWriter> write_kernel_bundle(const KernelNet& network, const std::vector<std::int64_t>& members,
                                         const HalfWidths& half_widths, BundleManifest manifest) {
  manifest.schema = kernel_schema();
  manifest.metrics = {"latency_ms", "memory_mb", "power_w", "energy_j"};
  manifest.parts["roofline"] = std::to_string(roofline_hash());
  manifest.parts["conformal"] = nlohmann::json(half_widths).dump();
  return network.write(members).bundle(std::move(manifest));
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
  for (std::size_t i = 0; i < measured.size(); ++i)
    sum += (predicted[i] / measured[i] - 1) * (predicted[i] / measured[i] - 1);
  return measured.empty() ? 0 : 100 * std::sqrt(sum / static_cast<double>(measured.size()));
}

Result<Scores> score_bundle(const Bundle& bundle, const std::vector<GnnRow>& rows, const RowIndices& test) {
  FORERUN_TRY(const GnnPredictor predictor, GnnPredictor::load(bundle));
  std::vector<const KernelTensors*> inputs;
  for (const std::size_t i : test) inputs.push_back(&rows[i].kernels);
  const std::vector<Result<GnnAnswer>> answers = predictor.answer_many(inputs);
  Scores scores;
  for (std::size_t k = 0; k < test.size(); ++k) {
    if (!answers[k]) return answers[k].error();
    const GnnAnswer& answer = *answers[k];
    const GnnRow& row = rows[test[k]];
    const double alone_ms =
        std::pow(std::pow(answer.device_ms, kGnnOverlapPower) + std::pow(answer.host_ms, kGnnOverlapPower),
                 1 / kGnnOverlapPower);
    score_row(scores, row, test[k],
              {row.alone ? alone_ms : answer.eager_ms, row.alone ? answer.device_ms : answer.graph_ms, answer.memory_mb,
               answer.power_w(Runtime::Eager, row.counted), answer.energy_j(Runtime::Eager, row.counted),
               answer.power_w(Runtime::Graph, row.counted), answer.energy_j(Runtime::Graph, row.counted)});
  }
  return scores;
}

Result<Scores> score_members(const KernelNet& network, const std::vector<std::int64_t>& members,
                             const std::vector<GnnRow>& rows, const RowIndices& test) {
  FORERUN_TRY(const BundleWriter writer, write_kernel_bundle(network, members, {}, {.name = "gnn-kernels"}));
  FORERUN_TRY(const std::string bytes, writer.bytes());
  FORERUN_TRY(const Bundle bundle, Bundle::from_bytes(bytes, "gnn-kernels"));
  return score_bundle(bundle, rows, test);
}

Scores score_roofline(const std::vector<GnnRow>& rows, const RowIndices& test) {
  Scores scores;
  for (const std::size_t i : test) score_row(scores, rows[i], i, rows[i].roofline);
  return scores;
}

void add_scores(Scores& all, const Scores& more) {
  for (const auto& [name, scored] : more) {
    Scored& into = all[name];
    into.predicted.insert(into.predicted.end(), scored.predicted.begin(), scored.predicted.end());
    into.measured.insert(into.measured.end(), scored.measured.begin(), scored.measured.end());
    into.rows.insert(into.rows.end(), scored.rows.begin(), scored.rows.end());
  }
}

HalfWidths half_widths_of(const Scores& scores) {
  HalfWidths widths;
  for (const auto& [metric, scored] : scores) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < scored.measured.size(); ++i)
      errors.push_back(std::abs(std::log(scored.predicted[i] / scored.measured[i])));
    if (errors.size() >= 10) widths[metric] = conformal_half_width(std::move(errors));
  }
  return widths;
}

}  // namespace forerun
