#include "records/run_kind.hpp"

namespace forerun {

std::string_view name_of(RunKind kind) {
  constexpr std::array<std::string_view, std::size_t(RunKind::Count)> kNames = {"vision_inference", "vision_training",
                                                                                "llm", "llm_training"};
  return kNames[std::size_t(kind)];
}

RunKind run_kind_of(const Graph& graph, const Workload& workload) {
  const bool language = graph.origin.form == GraphForm::WrittenOut;
  if (workload.training) return language ? RunKind::LanguageTraining : RunKind::VisionTraining;
  return language ? RunKind::LanguageInference : RunKind::VisionInference;
}

std::optional<RunMetric> run_metric_of(Metric metric, const Workload& workload) {
  const bool replayed = workload.runtime == Runtime::Graph && !workload.training;
  switch (metric) {
    case Metric::Latency:
      return workload.training ? RunMetric::Step : replayed ? RunMetric::LatencyGraph : RunMetric::LatencyEager;
    case Metric::Memory: return RunMetric::Memory;
    case Metric::DeviceMemory: return RunMetric::DeviceMemory;
    case Metric::Energy: return replayed ? RunMetric::EnergyGraph : RunMetric::Energy;
    case Metric::Power: return replayed ? RunMetric::PowerGraph : RunMetric::Power;
    default: return std::nullopt;
  }
}

}  // namespace forerun
