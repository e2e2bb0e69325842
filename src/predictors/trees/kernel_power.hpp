// What a device draws while kernels run, learned per kernel from readings of its energy counter over whole passes:
// watts are averaged over the kernels' time, and the rest of a pass is spent waiting.
#pragma once

#include <string>
#include <vector>

#include "predictors/trees/tree_input.hpp"

namespace forerun {

[[nodiscard]] constexpr bool is_energy(RunMetric metric) {
  return metric == RunMetric::Energy || metric == RunMetric::EnergyGraph;
}
[[nodiscard]] constexpr bool is_drawn(RunMetric metric) {
  return is_energy(metric) || metric == RunMetric::Power || metric == RunMetric::PowerGraph;
}
// The latency of the passes whose energy or power it is.
[[nodiscard]] RunMetric latency_metric(RunKind domain, RunMetric drawn);

// What the trees of power read of each kernel: its facts, the rates it reaches in its learned time, and that time.
// REQUIRES: sum_kernels
[[nodiscard]] const std::vector<std::string>& power_fact_names();
[[nodiscard]] std::vector<float> power_facts(const TreeInput& input);

// Mean power while the kernels run, of each input.
[[nodiscard]] std::vector<double> busy_powers_w(std::span<const TreeInput> inputs, const Forest& power_forest);
[[nodiscard]] inline double busy_power_w(const TreeInput& input, const Forest& power_forest) {
  return busy_powers_w(std::span(&input, 1), power_forest)[0];
}

// How long kernels run in a pass. A vision network's replay is its kernels, one after the other; between the small ones
// of a language model the device also waits in a replay, and their sum is the better answer. graph_ms: 0 where it is
// not known.
[[nodiscard]] double kernels_ms(const TreeInput& input, double graph_ms);
// latency_ms: of `drawn`'s passes.
[[nodiscard]] CountedPass counted_pass(const TreeInput& input, RunMetric drawn, double latency_ms, double graph_ms);
[[nodiscard]] double drawn(RunMetric metric, const CountedPass& pass, double busy_w);  // W or J

}  // namespace forerun
