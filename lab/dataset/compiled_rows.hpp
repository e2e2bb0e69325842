// Runs measured as torch.compile makes them (compiled.csv of a campaign: campaign, table, id of the earlier run, or
// table "timm" with graph, batch and precision; then the columns of measuring/worker/PROTOCOL.md).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

// A measured metric that was not taken is 0.
struct CompiledRow {
  Example run;  // the earlier run, its own metrics kept; of timm, the replay of the same campaign alone
  double latency_ms = 0, memory_mb = 0, power_w = 0;
  double replay_ms = 0;         // of PyTorch's own kernels, measured beside it
  double replay_memory_mb = 0;  // of the eager pass beside it
};

// All compiled runs of inference below `folder`. `timm_graphs`: the archive that holds the graphs of table "timm".
Result<std::vector<CompiledRow>> load_compiled_rows(const std::string& folder, const std::string& timm_graphs);

}  // namespace forerun
