// The one table of metrics: key, unit, meaning and direction of each metric. JSON, command line, HTTP, Python, page and
// docs read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace forerun {

enum class Metric : std::uint8_t {
  Latency,
  Throughput,
  Memory,
  DeviceMemory,
  Energy,
  Power,  // one pass or step
  Ttft,
  Tpot,
  LoadedTtft,
  LoadedTpot,
  RequestLatency,
  TokenRate,
  EnergyPerToken,
  ServingMemory,  // serving
  Count
};

enum class MetricScope : std::uint8_t { Pass, Serving };
enum class Better : std::uint8_t { Lower, Higher };

struct MetricSpec {
  Metric metric;
  std::string_view key;    // in JSON, HTTP and Python
  std::string_view label;  // in tables and on the page
  std::string_view unit;
  MetricScope scope;
  Better better;
  std::string_view meaning;
};

[[nodiscard]] std::span<const MetricSpec> all_metrics();  // in the order of Metric
[[nodiscard]] const MetricSpec& spec_of(Metric metric);
[[nodiscard]] inline std::string_view name_of(Metric metric) { return spec_of(metric).key; }
[[nodiscard]] std::optional<Metric> parse_metric(std::string_view key);

}  // namespace forerun
