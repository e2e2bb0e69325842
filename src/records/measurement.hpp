// One observed run of a workload on a device: the row that the profiler makes, the store keeps and training reads.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace forerun {

struct Measurement {
  // key: two rows with the same key are the same observation repeated; the later one replaces the earlier.
  std::string campaign;  // where the row came from, e.g. "h200-2026-11-first"
  std::string row_id;    // unique inside its campaign
  // what ran
  std::string network;  // architecture's name: the unit that splits keep together
  std::string family;
  std::string graph;          // file name of its graph or config inside the campaign
  std::string workload_hash;  // of the costed graph and the run settings; empty when no graph is known
  std::string device;         // catalogue id
  std::map<std::string, std::string> settings;  // batch, sequence, resolution, precision, runtime, phase, optimizer, …
  // what was observed: metric -> value with its unit in the name, e.g. "latency_ms_median"
  std::map<std::string, double> metrics;
  std::string status = "ok";  // "ok", "oom", "error: …"
  // provenance
  std::map<std::string, std::string> software;  // driver, torch, cudnn, …
  std::string source;                           // file or command
  std::string license;
  std::string measured_at;  // ISO date
};

}  // namespace forerun
