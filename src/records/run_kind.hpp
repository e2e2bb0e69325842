// The kind of run of a workload, and the names of its measured metrics. Predictors are trained and evaluated per kind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/graph.hpp"
#include "records/metric.hpp"
#include "records/workload.hpp"

namespace forerun {

enum class RunKind : std::uint8_t { VisionInference, VisionTraining, LanguageInference, LanguageTraining, Count };
[[nodiscard]] std::string_view name_of(RunKind kind);
[[nodiscard]] constexpr bool is_training(RunKind kind) {
  return kind == RunKind::VisionTraining || kind == RunKind::LanguageTraining;
}
[[nodiscard]] constexpr bool is_language(RunKind kind) {
  return kind == RunKind::LanguageInference || kind == RunKind::LanguageTraining;
}
// The one place that decides it. Networks written out from a configuration were measured as language models; files that
// hold a graph, whatever their task, as vision networks.
[[nodiscard]] RunKind run_kind_of(const Graph& graph, const Workload& workload);

// Measured metrics of a run. Latency, energy and power differ by runtime.
enum class RunMetric : std::uint8_t {
  LatencyEager,
  LatencyGraph,
  Step,
  Memory,
  DeviceMemory,
  Energy,
  Power,
  EnergyGraph,
  PowerGraph,
  Count
};
inline constexpr std::array<std::string_view, std::size_t(RunMetric::Count)> kRunMetricNames = {
    "latency_eager_ms", "latency_graph_ms", "step_ms",        "memory_mb",    "device_memory_mb",
    "energy_j",         "power_w",          "energy_graph_j", "power_graph_w"};
[[nodiscard]] constexpr std::string_view name_of(RunMetric metric) { return kRunMetricNames[std::size_t(metric)]; }

// The measured metric that corresponds to a report's metric for this run; nullopt where none is measured.
[[nodiscard]] std::optional<RunMetric> run_metric_of(Metric metric, const Workload& workload);

}  // namespace forerun
