// Predicting with the trees, with intervals. Loading is in tree_predictor_load.cpp, explanations in tree_explain.cpp.
#include "predictors/trees/tree_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "features/kernel_facts.hpp"
#include "features/transfer_facts.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

Estimate estimate(double value, const TreeInterval& interval, double unfamiliarity, const std::string& name) {
  const double half = interval.known + unfamiliarity * std::max(0.0, interval.unfamiliar - interval.known);
  return {value, value * std::exp(-half), value * std::exp(half), Basis::Learned, name};
}

}  // namespace

double mix_distance(const std::array<float, kKernelClasses>& a, const std::array<float, kKernelClasses>& b,
                    double most) {
  double sum = 0;
  for (std::size_t c = 0; c < kKernelClasses && sum < 2 * most; ++c) sum += std::abs(a[c] - b[c]);
  return sum / 2;
}

double unfamiliarity(const TreeFamiliarity& familiarity, const TreeInput& input) {
  double nearest = 1;
  for (const auto& mix : familiarity.mixes) nearest = std::min(nearest, mix_distance(mix, input.class_share, nearest));
  return std::clamp((nearest - familiarity.usual) / std::max(1e-6, familiarity.unusual - familiarity.usual), 0.0, 1.0);
}

const TreePredictor::Model* TreePredictor::find(RunKind domain, RunMetric metric) const {
  const auto found = models_.find({domain, metric});
  return found == models_.end() ? nullptr : &found->second;
}

std::vector<TreeAnswers> TreePredictor::answers_to(std::span<const TreeInput> inputs,
                                                   std::span<const float> rows) const {
  std::vector<TreeAnswers> all(inputs.size());
  const std::size_t width = tree_column_names().size();
  // Consecutive inputs of one kind of run go through a metric's trees as one batch.
  for (std::size_t first = 0, end = 0; first < inputs.size(); first = end) {
    while (end < inputs.size() && inputs[end].domain == inputs[first].domain) ++end;
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) {
      const Model* model = is_energy_or_power(RunMetric(m)) ? nullptr : find(inputs[first].domain, RunMetric(m));
      if (model == nullptr) continue;
      std::vector<float> scores(end - first, 0);
      model->forest.predict(rows.subspan(first * width, scores.size() * width), width, scores);
      for (std::size_t i = first; i < end; ++i)
        all[i][m] = tree_base(inputs[i], RunMetric(m)) * std::exp(double(scores[i - first]));
    }
  }
  if (!power_forest_) return all;
  const std::vector<double> busy_w = busy_powers_w(inputs, *power_forest_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) {
      if (!is_energy_or_power(RunMetric(m)) || find(inputs[i].domain, RunMetric(m)) == nullptr) continue;
      if (const auto pass = pass_of(inputs[i], all[i], RunMetric(m)))
        all[i][m] = energy_or_power(RunMetric(m), *pass, busy_w[i]);
    }
  }
  return all;
}

std::vector<TreeAnswers> TreePredictor::answers_many(std::span<const TreeInput> inputs) const {
  std::vector<TreeAnswers> all;
  for (std::size_t first = 0; first < inputs.size(); first += kInputsAtOnce) {
    const auto some = inputs.subspan(first, std::min(kInputsAtOnce, inputs.size() - first));
    std::vector<float> rows;
    for (const TreeInput& input : some) {
      const std::vector<float> row = tree_row(input);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const std::vector<TreeAnswers> found = answers_to(some, rows);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

std::optional<CountedPass> TreePredictor::pass_of(const TreeInput& input, const TreeAnswers& answers,
                                                  RunMetric metric) {
  const auto latency = answers[std::size_t(latency_metric(input.domain, metric))];
  if (!latency) return std::nullopt;
  return counted_pass(input, metric, *latency, answers[std::size_t(RunMetric::LatencyGraph)].value_or(0));
}

Status TreePredictor::covers(const PredictorInput& in, const std::string& name) const {
  if (!knows(in.device)) {
    return bad_input("predictor '" + name + "' has no measurements on " + in.device.id +
                     "; use 'kernels' or 'roofline'");
  }
  const RunKind kind = run_kind_of(in.graph, in.workload);
  const auto metric = run_metric_of(Metric::Latency, in.workload);
  if (find(kind, *metric) != nullptr) return ok();
  return bad_input("predictor '" + name + "' was trained on no runs of kind " + std::string(name_of(kind)) + " on " +
                   in.device.id + "; use 'kernels' or 'roofline'");
}

TreeInput TreePredictor::input_of(const PredictorInput& in, KernelBasis basis) {
  TreeInput input = make_tree_input(in.graph, in.totals, in.kernels, in.workload, in.device, in.roofline, in.groups,
                                    basis, in.cancel);
  input.host_ms = in.host.of(input.host_ms);
  input.counted = reference_counted(in.workload.training);
  return input;
}

TreeInput TreePredictor::summed(const PredictorInput& in) const {
  TreeInput input = input_of(in, KernelBasis::Measured);
  sum(input);
  return input;
}

Answer TreePredictor::predict(const PredictorInput& in, const TreeInput& input) const {
  const std::vector<float> row = tree_row(input);
  const auto familiar = familiarity_.find(input.domain);
  double unfamiliar =
      familiar == familiarity_.end() || familiar->second.mixes.empty() ? 1 : unfamiliarity(familiar->second, input);
  Answer prediction;
  if (unfamiliar >= 1)
    prediction.warnings.push_back("the mix of operators differs from every measured network: intervals are wider");
  const std::string precision(name_of(in.workload.precision));
  if (!precisions_.contains(precision)) {
    prediction.warnings.push_back("no network was measured in precision " + precision);
    unfamiliar = 1;
  }
  bool said_range = false;
  const TreeAnswers found = answers(input, row);
  for (const Metric key : kTreeMetrics) {
    const auto metric = run_metric_of(key, in.workload);
    if (!metric) continue;
    const Model* model = find(input.domain, *metric);
    if (model == nullptr) continue;
    double widened = unfamiliar;
    // The feature furthest outside its range in training, in units of that range.
    double furthest = 0;
    std::size_t column = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double span = std::max(0.1, double(model->highest[c]) - model->lowest[c]);
      const double outside = std::max(double(model->lowest[c]) - row[c], double(row[c]) - model->highest[c]) / span;
      if (outside > furthest) {
        furthest = outside;
        column = c;
      }
    }
    if (furthest > 0.1) {
      widened = 1;
      if (!said_range)
        prediction.warnings.push_back(
            fmt::format("outside the measured range: {} is {:.3g}", tree_column_names()[column], row[column]));
      said_range = true;
    }
    if (const auto value = found[std::size_t(*metric)])
      prediction.estimates.set(key, estimate(*value, model->interval, widened, name_));
  }
  return prediction;
}

bool TreePredictor::sums_by_networks(const TreeInput& input, const Workload& workload, const Device& device) const {
  // Decode steps were measured on the reference device only.
  return network_forest_ && !knows(device) && device.maker == "NVIDIA" && input.domain == RunKind::LanguageInference &&
         workload.binding.phase != Phase::Decode;
}

std::vector<double> TreePredictor::kernel_run_us(std::span<const Kernel> kernels, const Device& device) const {
  std::vector<std::uint32_t> group_of;
  const std::vector<KernelGroup> groups = group_kernels(kernels, &group_of);
  const std::size_t width = kernel_fact_count();
  std::vector<float> facts(groups.size() * width);
  std::vector<double> ideal_us;
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    extract_kernel_facts(*groups[i].kernel, device, false, std::span(facts).subspan(i * width, width));
    ideal_us.push_back(ideal_kernel_us(*groups[i].kernel, device));
    keys.push_back(known_kernel_key(*groups[i].kernel, device));
  }
  const std::vector<double> group_us = learned_kernel_us(facts, ideal_us, keys, kernel_forest_, known_kernels_);
  std::vector<double> us;
  us.reserve(kernels.size());
  for (const std::uint32_t group : group_of) us.push_back(group_us[group]);
  return us;
}

std::vector<double> TreePredictor::kernel_run_us(const PredictorInput& input, const TreeInput& summed) {
  std::vector<KernelGroup> made;
  std::vector<std::uint32_t> made_of;
  if (input.group_of.empty()) made = group_kernels(input.kernels, &made_of);
  const std::span<const KernelGroup> groups = input.group_of.empty() ? made : input.groups;
  const std::span<const std::uint32_t> group_of = input.group_of.empty() ? made_of : input.group_of;
  std::vector<double> us;
  us.reserve(group_of.size());
  for (const std::uint32_t group : group_of)
    us.push_back(groups[group].runs > 0 ? summed.kernel_us[group] / groups[group].runs : 0);
  return us;
}

void TreePredictor::sum(TreeInput& input, const Workload& workload, const Device& device) const {
  if (sums_by_networks(input, workload, device)) {
    sum_network_kernels(input, *network_forest_);
  } else if (basis_of(device) == KernelBasis::Transfer) {
    sum_transferred(input, transfer_);
  } else {
    sum(input);
  }
}

TreeInput TreePredictor::summed_by_kernels(const PredictorInput& in) const {
  TreeInput input = input_of(in, basis_of(in.device));
  sum(input, in.workload, in.device);
  return input;
}

Answer TreePredictor::predict_by_kernels(const PredictorInput& in, const TreeInput& input) const {
  const bool networks = sums_by_networks(input, in.workload, in.device);
  const bool graph = in.workload.runtime == Runtime::Graph && !in.workload.training;
  const double value = tree_base(input, graph ? RunMetric::LatencyGraph : RunMetric::LatencyEager);
  const bool was_measured = knows(in.device) && covers(in, name_).has_value();
  const bool is_known = was_measured || (devices_.contains(in.device.id) && !in.device.slice.empty());
  // The forest of networks was trained on one family of them: the wide interval applies even on its training devices.
  double half = networks               ? network_interval_.unfamiliar
                : !is_known            ? kernel_interval_[0].unfamiliar
                : in.workload.training ? kernel_interval_[1].known
                                       : kernel_interval_[0].known;
  if (!graph) {  // kernels and host each count by their part in the pass
    const double host_half = in.host.half_width > 0 ? in.host.half_width : kernel_interval_[1].known;
    const double share = device_share(input.kernel_ms, host_time_ms(input));
    half = share * half + (1 - share) * host_half;
  }
  Answer prediction;
  prediction.estimates.set(Metric::Latency,
                           estimate(value, {half, half}, 0, name_ + (networks ? "-networks" : "-kernels")));
  if (networks && !network_devices_.contains(in.device.id)) {
    prediction.warnings.push_back("no network was measured on " + in.device.id +
                                  ": the answer is the sum of its kernels, learned from networks on other devices");
  } else if (!networks && !knows(in.device)) {
    prediction.warnings.push_back("no network was measured on " + in.device.id +
                                  ": the answer is the sum of its kernels");
  }
  if (knows(in.device) && !was_measured) {
    prediction.warnings.push_back(fmt::format("no {} run was measured on {}: the answer is the sum of its kernels",
                                              name_of(input.domain), in.device.id));
  }
  return prediction;
}

}  // namespace forerun
