#include "predictors/trees/kernel_power.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {
namespace {

std::size_t fact(std::string_view name) {
  const auto& names = kernel_fact_names();
  return std::size_t(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

TreeMetric latency_metric(TreeDomain domain, TreeMetric drawn) {
  if (drawn == TreeMetric::EnergyGraph || drawn == TreeMetric::PowerGraph) return TreeMetric::LatencyGraph;
  return domain == TreeDomain::VisionTraining ? TreeMetric::Step : TreeMetric::LatencyEager;
}

const std::vector<std::string>& power_fact_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names = kernel_fact_names();
    for (const char* name : {"log_mac_rate", "log_byte_rate", "log_time_us"}) names.emplace_back(name);
    return names;
  }();
  return kNames;
}

std::vector<float> power_facts(const TreeInput& input) {
  static const std::size_t kIdeal = fact("log_ideal_us"), kMacs = fact("log_macs"), kBytes = fact("log_bytes");
  const std::size_t width = kernel_fact_count();
  std::vector<float> facts;
  facts.reserve(input.kernel_us.size() * power_fact_names().size());
  for (std::size_t k = 0; k < input.kernel_us.size(); ++k) {
    const auto row = std::span(input.facts).subspan(k * width, width);
    facts.insert(facts.end(), row.begin(), row.end());
    const auto log_us = float(double(row[kIdeal]) + std::log(input.kernel_us[k] / input.ideal_us[k]));
    facts.insert(facts.end(), {row[kMacs] - log_us, row[kBytes] - log_us, log_us});
  }
  return facts;
}

double busy_power_w(const TreeInput& input, const Forest& power_forest) {
  std::vector<float> scores(input.kernel_us.size(), 0);
  power_forest.predict(power_facts(input), power_fact_names().size(), scores);
  double joules = 0, us = 1e-9;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    joules += input.kernel_us[k] * std::exp(double(scores[k]));
    us += input.kernel_us[k];
  }
  return kUsualPowerW * joules / us;
}

double kernels_ms(const TreeInput& input, double graph_ms) { return input.domain == TreeDomain::VisionInference && graph_ms > 0 ? graph_ms : input.kernel_ms; }

CountedPass counted_pass(const TreeInput& input, TreeMetric drawn, double latency_ms, double graph_ms) {
  const bool replayed = drawn == TreeMetric::EnergyGraph || drawn == TreeMetric::PowerGraph;
  return {kernels_ms(input, graph_ms), latency_ms + (replayed ? kReplayGapMs : input.counted.counter_ms)};
}

double drawn(const TreeInput& input, TreeMetric metric, const CountedPass& pass, double busy_w) {
  const double watts = pass_power_w(pass, busy_w, input.counted.wait_w);
  return is_energy(metric) ? watts * pass.period_ms / 1e3 : watts;
}

}  // namespace forerun
