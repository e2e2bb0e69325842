// Published serving runs as questions: AIConfigurator's collection, and Argonne's static batches.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "service/request.hpp"

namespace forerun {

struct ServingRow {
  std::string source;   // "aic", "argonne"
  std::string network;  // as the source names it: rows are split by it
  std::string device, precision, mode;
  std::string engine, version;
  Request request;
  std::int64_t concurrency = 1;
  double ttft_ms = 0, tpot_ms = 0, latency_ms = 0;  // measured; 0: not
};

struct ServingRows {
  std::vector<ServingRow> rows;
  std::map<std::string, std::size_t> skipped;  // why, of how many
  std::size_t all = 0;
};

Result<ServingRows> read_aic_runs(const std::string& folder);
Result<ServingRows> read_argonne_runs(const std::string& folder);

}  // namespace forerun
