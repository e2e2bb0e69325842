// Latencies that others measured on phones, boards, processors and GPUs, as rows of operator sums: HELP's search spaces
// (18 devices) and Qualcomm AI Hub's torchvision networks.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "features/operator_sums.hpp"
#include "records/workload.hpp"

namespace forerun {

struct PlatformRow {
  std::string platform;  // id
  std::string network, family;
  Precision precision = Precision::Fp32;
  OperatorSums sums{};
  double measured_ms = 0;
};

// A platform of the public tables: how they call it and what it is.
struct PlatformSource {
  std::string id, name, kind, description, source;
  std::string column;    // of HELP's tables; or
  std::string hub_name;  // Qualcomm AI Hub's device
  double least_ms = 0;   // shorter times are no measurements: a runtime that pruned the network
};
// data/edge/sources.json, the table of platforms.
Result<std::vector<PlatformSource>> read_platform_sources(const std::string& path);

struct PlatformRowOptions {
  std::string folder;               // help_*.csv.gz, qualcomm_ai_hub_perf.csv.gz; an absent file adds nothing
  std::string graphs;               // archive of torchvision's networks, NAME_SIZE.onnx
  std::size_t architectures = 600;  // of each search space
};
struct PlatformRows {
  std::vector<PlatformRow> rows;
  std::size_t broken = 0;  // left out: shorter than a platform's least
};
Result<PlatformRows> load_platform_rows(const std::vector<PlatformSource>& sources, const PlatformRowOptions& options);

}  // namespace forerun
