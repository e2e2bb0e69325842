// What a simulated load comes to: percentiles, rates, use of the KV cache, saturation, and the highest rate that keeps
// the limits asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serving/engine.hpp"
#include "serving/load.hpp"
#include "serving/simulator.hpp"

namespace forerun {

struct ServingMetric {
  std::string_view key;  // "ttft_ms"
  double value = 0;      // mean
  std::optional<double> p50 = {}, p90 = {}, p99 = {};
  double low = 0, high = 0;  // 90 % interval of the mean
};

// Limits on latency that a request must keep to count as good.
struct LatencyLimits {
  std::optional<double> ttft_ms = {}, tpot_ms = {};
  [[nodiscard]] bool any() const { return ttft_ms || tpot_ms; }
};

struct ServingSummary {
  bool saturated = false;  // requests come faster than they are served: there are no latencies to give
  std::vector<ServingMetric> metrics;
  [[nodiscard]] const ServingMetric* find(std::string_view key) const;
};

// Simulates a load. An open loop goes on until it is long against the stay of a request, or is seen to pile up.
[[nodiscard]] SimulationResult run_load(const Deployment& deployment, const Load& load);

// `devices`: of the whole deployment.
[[nodiscard]] ServingSummary summarise(const SimulationResult& result, const Load& load, const LatencyLimits& limits,
                                       double devices);

// Whether at least 90 % of a load's requests keep the limits, and nothing piles up.
struct LoadCheck {
  bool piles_up = false, keeps_ttft = false, keeps_tpot = false;
  bool keeps_all = false;  // both at once, without piling up
};
[[nodiscard]] LoadCheck check_load(const SimulationResult& result, const LatencyLimits& limits);

// Requests a second up to which at least 90 % of the requests keep the limits and nothing piles up; absent when not
// even a hundredth of a request a second does.
[[nodiscard]] std::optional<double> highest_rate(const Deployment& deployment, const Load& load,
                                                 const LatencyLimits& limits);

}  // namespace forerun
