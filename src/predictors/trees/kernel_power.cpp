#include "predictors/trees/kernel_power.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {
namespace {

std::size_t fact(std::string_view name) {
  const auto& names = kernel_fact_names();
  return std::size_t(std::find(names.begin(), names.end(), name) - names.begin());
}

void append_facts(const TreeInput& input, std::vector<float>& facts) {
  static const std::size_t kIdeal = fact("log_ideal_us"), kMacs = fact("log_macs"), kBytes = fact("log_bytes");
  const std::size_t width = kernel_fact_count();
  for (std::size_t k = 0; k < input.kernel_us.size(); ++k) {
    const auto row = std::span(input.facts).subspan(k * width, width);
    facts.insert(facts.end(), row.begin(), row.end());
    const auto log_us = float(double(row[kIdeal]) + std::log(input.kernel_us[k] / input.ideal_us[k]));
    facts.insert(facts.end(), {row[kMacs] - log_us, row[kBytes] - log_us, log_us});
  }
}

std::vector<float> facts_of(std::span<const TreeInput> inputs) {
  std::size_t kernels = 0;
  for (const TreeInput& input : inputs) kernels += input.kernel_us.size();
  std::vector<float> facts;
  facts.reserve(kernels * power_fact_names().size());
  for (const TreeInput& input : inputs) append_facts(input, facts);
  return facts;
}

}  // namespace

RunMetric latency_metric(RunKind domain, RunMetric metric) {
  if (metric == RunMetric::EnergyGraph || metric == RunMetric::PowerGraph) return RunMetric::LatencyGraph;
  return is_training(domain) ? RunMetric::Step : RunMetric::LatencyEager;
}

const std::vector<std::string>& power_fact_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = kernel_fact_names();
    for (const char* name : {"log_mac_rate", "log_byte_rate", "log_time_us"}) names.emplace_back(name);
    return names;
  }();
  return kNames;
}

std::vector<float> power_facts(const TreeInput& input) { return facts_of(std::span(&input, 1)); }

std::vector<double> busy_powers_w(std::span<const TreeInput> inputs, const Forest& power_forest) {
  std::vector<double> watts;
  for (std::size_t first = 0; first < inputs.size(); first += kInputsAtOnce) {
    const auto some = inputs.subspan(first, std::min(kInputsAtOnce, inputs.size() - first));
    const std::vector<float> facts = facts_of(some);
    std::vector<float> scores(facts.size() / power_fact_names().size(), 0);
    power_forest.predict(facts, power_fact_names().size(), scores);
    auto score = scores.begin();
    for (const TreeInput& input : some) {
      double joules = 0, us = 1e-9;
      for (const double kernel_us : input.kernel_us) {
        joules += kernel_us * std::exp(double(*score++));
        us += kernel_us;
      }
      watts.push_back(kUsualPowerW * joules / us);
    }
  }
  return watts;
}

double kernels_ms(const TreeInput& input, double graph_ms) {
  return input.domain == RunKind::VisionInference && graph_ms > 0 ? graph_ms : input.kernel_ms;
}

CountedPass counted_pass(const TreeInput& input, RunMetric metric, double latency_ms, double graph_ms) {
  const bool replayed = metric == RunMetric::EnergyGraph || metric == RunMetric::PowerGraph;
  if (replayed) return {kernels_ms(input, graph_ms), latency_ms + kReplayGapMs};
  return {kernels_ms(input, graph_ms), latency_ms * input.counted.uneven + input.counted.counter_ms,
          input.counted.wait_w};
}

double energy_or_power(RunMetric metric, const CountedPass& pass, double busy_w) {
  const double watts = pass_power_w(pass, busy_w);
  return is_energy(metric) ? watts * pass.period_ms / 1e3 : watts;
}

}  // namespace forerun
