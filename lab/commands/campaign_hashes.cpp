#include "commands/campaign_hashes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/analyze.hpp"
#include "dataset/load_campaign.hpp"
#include "store/workload_hash.hpp"

namespace forerun {

Result<CampaignHashes> campaign_hashes(const std::string& folder, const std::string& device) {
  namespace fs = std::filesystem;
  CampaignHashes hashes;
  const auto holds = [&](const char* name) { return fs::exists(fs::path(folder) / name); };
  if (!holds("graphs.tar.xz") && !holds("graphs.tar.gz") && !holds("graphs.tar") && !holds("configs")) return hashes;
  FORERUN_TRY(const Dataset data, load_campaign(folder, {.device = device}));
  std::size_t failures = 0;
  std::string first_failure;
  for (const Example& example : data.examples) {
    const auto graph = analyze(*example.net, example.workload.binding);
    if (!graph) {
      if (failures++ == 0) first_failure = graph.error().message;
      continue;
    }
    hashes.by_row[example.row_id] = workload_hash(*graph, example.workload);
  }
  if (failures > 0)
    hashes.warning =
        fmt::format("{} rows have no hash, their graphs cannot be analysed; the first: {}", failures, first_failure);
  return hashes;
}

}  // namespace forerun
