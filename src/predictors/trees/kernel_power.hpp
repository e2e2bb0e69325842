// Power while kernels run, learned per kernel from energy readings of whole passes: kernel powers are averaged by
// kernel time; the rest of a pass is spent waiting.
#pragma once

#include <string>
#include <vector>

#include "predictors/trees/tree_input.hpp"

namespace forerun {

[[nodiscard]] constexpr bool is_energy(RunMetric metric) {
  return metric == RunMetric::Energy || metric == RunMetric::EnergyGraph;
}
[[nodiscard]] constexpr bool is_energy_or_power(RunMetric metric) {
  return is_energy(metric) || metric == RunMetric::Power || metric == RunMetric::PowerGraph;
}
// The latency metric of the same passes as an energy or power metric.
[[nodiscard]] RunMetric latency_metric(RunKind domain, RunMetric metric);

// Features of each kernel for the power forest: its facts, the rates reached in its learned time, and that time.
// REQUIRES: sum_kernels
[[nodiscard]] const std::vector<std::string>& power_fact_names();
[[nodiscard]] std::vector<float> power_facts(const TreeInput& input);

// Mean power while the kernels run, of each input.
[[nodiscard]] std::vector<double> busy_powers_w(std::span<const TreeInput> inputs, const Forest& power_forest);
[[nodiscard]] inline double busy_power_w(const TreeInput& input, const Forest& power_forest) {
  return busy_powers_w(std::span(&input, 1), power_forest)[0];
}

// Kernel time of a pass. For vision networks it is the latency of a CUDA graph replay. In a language model's replay the
// device also waits between small kernels, so the sum of kernel times is used. graph_ms: 0 where it is not known.
[[nodiscard]] double kernels_ms(const TreeInput& input, double graph_ms);
// latency_ms: of the passes of `metric`.
[[nodiscard]] CountedPass counted_pass(const TreeInput& input, RunMetric metric, double latency_ms, double graph_ms);
[[nodiscard]] double energy_or_power(RunMetric metric, const CountedPass& pass, double busy_w);  // W or J

}  // namespace forerun
