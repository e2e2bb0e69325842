#include "service/measured.hpp"

#include "store/store.hpp"
#include "store/workload_hash.hpp"

namespace forerun {

Result<std::map<std::string, double>> find_measured(const std::string& url, const Graph& graph,
                                                    const Workload& workload, const Device& device) {
  FORERUN_TRY(const std::unique_ptr<Store> store, open_store(url, OpenMode::Read));
  FORERUN_TRY(const std::optional<Measurement> row, store->find_exact(workload_hash(graph, workload), device.id));
  std::map<std::string, double> result;
  if (!row) return result;
  const auto copy = [&](const char* from, const char* to) {
    if (const auto found = row->metrics.find(from); found != row->metrics.end()) result[to] = found->second;
  };
  const bool is_graph = workload.runtime == Runtime::Graph;
  copy(is_graph ? "graph_replay_ms_median" : "latency_ms_median", "latency_ms");
  copy("peak_allocated_mb", "memory_mb");
  copy("process_mb", "device_memory_mb");
  copy(is_graph ? "graph_energy_j" : "energy_j", "energy_j");
  copy(is_graph ? "graph_power_w" : "power_w", "power_w");
  return result;
}

}  // namespace forerun
