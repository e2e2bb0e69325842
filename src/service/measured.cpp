#include "service/measured.hpp"

#include "store/store.hpp"
#include "store/workload_hash.hpp"

namespace forerun {

Result<std::map<Metric, double>> find_measured(const std::string& url, const Graph& graph, const Workload& workload,
                                               const Device& device) {
  FORERUN_TRY(const std::unique_ptr<Store> store, open_store(url, OpenMode::Read));
  FORERUN_TRY(const std::optional<Measurement> row, store->find_exact(workload_hash(graph, workload), device.id));
  std::map<Metric, double> result;
  if (!row) return result;
  const auto copy = [&](const char* from, Metric to) {
    if (const auto found = row->metrics.find(from); found != row->metrics.end()) result[to] = found->second;
  };
  const bool is_graph = workload.runtime == Runtime::Graph;
  copy(is_graph ? "graph_replay_ms_median" : "latency_ms_median", Metric::Latency);
  copy("peak_allocated_mb", Metric::Memory);
  copy("process_mb", Metric::DeviceMemory);
  copy(is_graph ? "graph_energy_j" : "energy_j", Metric::Energy);
  copy(is_graph ? "graph_power_w" : "power_w", Metric::Power);
  return result;
}

}  // namespace forerun
