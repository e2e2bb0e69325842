// A measured run joined with its network: what training and evaluation work on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/kernels.hpp"
#include "features/kernel_physics.hpp"
#include "predictors/pass_power.hpp"
#include "readers/reader.hpp"
#include "records/run_kind.hpp"
#include "records/workload.hpp"

namespace forerun {

// Metrics of an example. A metric that was not measured is absent from the map.
inline constexpr std::string_view kLatencyEager = name_of(RunMetric::LatencyEager);
inline constexpr std::string_view kLatencyGraph = name_of(RunMetric::LatencyGraph);
inline constexpr std::string_view kStep = name_of(RunMetric::Step);
inline constexpr std::string_view kMemory = name_of(RunMetric::Memory);
inline constexpr std::string_view kDeviceMemory = name_of(RunMetric::DeviceMemory);
inline constexpr std::string_view kEnergy = name_of(RunMetric::Energy);
inline constexpr std::string_view kPower = name_of(RunMetric::Power);
inline constexpr std::string_view kEnergyGraph = name_of(RunMetric::EnergyGraph);
inline constexpr std::string_view kPowerGraph = name_of(RunMetric::PowerGraph);
inline constexpr std::string_view kLatencyCompiled = "latency_compiled_ms";  // predicted from kLatencyGraph's answer

struct Example {
  Workload workload;
  RunKind domain = RunKind::VisionInference;
  std::string device;   // catalogue id
  std::string network;  // the unit that splits by architecture keep together
  std::string family;
  std::string campaign;
  std::string eager_campaign;  // that measured its eager run, with energy and power, again; else empty
  std::string row_id;
  std::shared_ptr<const Network> net;
  std::map<std::string, double, std::less<>> metrics;
  double host_time = 1;  // of its campaign's machine at that time, relative to the first campaign's
  double host_weight =
      1;  // of its eager latency in training: 1 for a host that others slowed at times, more for a quiet one
  CountedAs counted;  // its energy_j and power_w
  // energy_j and power_w are of the passes alone, without the readings of the counter between them
  [[nodiscard]] bool counter_beside() const { return counted.counter_ms == 0; }
  // The campaign whose measurement the metric is.
  [[nodiscard]] const std::string& measured_in(std::string_view metric) const {
    const bool eager = metric == kLatencyEager || metric == kStep || metric == kEnergy || metric == kPower;
    return eager && !eager_campaign.empty() ? eager_campaign : campaign;
  }
  double spread = 0;  // (p90 - p10) / median of the eager latency; 0 when not known
};

// One operator timed alone. Gradients and convolutions with a bias launch several kernels.
struct OperatorExample {
  std::vector<Kernel> kernels;
  Workload workload;
  std::string device;
  double latency_ms = 0;
  bool host_included = false;  // timed call by call from the host, not inside a CUDA graph or an engine
  double host_us = 0;          // of one call, the device not waited for; 0: not measured
  double timing_us = 0;        // what the way of timing adds to the kernels
  double floor_us = 0;         // of the host's call: no kernel was short enough to be timed below it
  KernelSetting setting;
  // As long as its host's call, whatever the kernel takes: it says nothing of the device.
  [[nodiscard]] bool host_bound() const { return latency_ms * 1e3 < 2 * floor_us; }
  [[nodiscard]] bool at_floor() const { return latency_ms * 1e3 < 1.1 * floor_us; }  // any short kernel would do
  std::string op;                                                                    // as the source calls it
  std::string source;                                                                // campaign or public data set
  std::string engine;  // serving engine it was timed in: "vllm", "trtllm"; else empty
  std::string row_id;
};

// What a host would have read for kernels that take this long. Timed: OperatorExample or OperatorRows.
template <typename Timed>
[[nodiscard]] double as_timed(const Timed& row, double kernels_us) {
  return std::max(row.floor_us, row.timing_us + kernels_us);
}

struct SkippedRows {
  std::string reason;
  std::int64_t rows = 0;
};

struct Dataset {
  std::vector<Example> examples;
  std::vector<SkippedRows> skipped;
};

}  // namespace forerun
