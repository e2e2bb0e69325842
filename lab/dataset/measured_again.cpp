#include "dataset/measured_again.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/csv.hpp"
#include "dataset/campaign_facts.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

std::string table_path(const std::string& folder) { return (fs::path(folder) / "again.csv").string(); }

// False where the row lacks what the example had.
bool replace(const CsvReader& csv, Example& example) {
  const auto latency = csv.number("latency_ms_median"), energy = csv.number("energy_j"), power = csv.number("power_w");
  const bool had_energy = example.metrics.contains(kEnergy) || example.metrics.contains(kPower);
  const bool has_energy = energy && power && *energy > 0 && *power > 0;
  if (!latency || *latency <= 0 || (had_energy && !has_energy)) return false;
  example.metrics.insert_or_assign(std::string(example.workload.training ? kStep : kLatencyEager), *latency);
  if (has_energy) {
    example.metrics.insert_or_assign(std::string(kEnergy), *energy);
    example.metrics.insert_or_assign(std::string(kPower), *power);
  }
  const auto p10 = csv.number("latency_ms_p10"), p90 = csv.number("latency_ms_p90");
  example.spread = p10 && p90 ? (*p90 - *p10) / *latency : 0;
  return true;
}

}  // namespace

bool has_measured_again(const std::string& folder) { return fs::exists(table_path(folder)); }

Status replace_measured_again(const std::string& folder, Dataset& data) {
  FORERUN_TRY(const CampaignFacts facts, read_campaign_facts(folder));
  std::map<std::pair<std::string, std::string>, Example*> runs;
  for (Example& e : data.examples) {
    if (e.metrics.contains(kLatencyEager) || e.metrics.contains(kStep)) runs[{e.campaign, e.row_id}] = &e;
  }
  const std::string name = fs::path(folder).lexically_normal().filename().string();
  std::int64_t unknown = 0, incomplete = 0;
  FORERUN_TRY(CsvReader csv, CsvReader::open(table_path(folder)));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) break;
    const std::string table(csv.field("table"));
    const auto found = runs.find({std::string(csv.field("campaign")), fmt::format("{}/{}", table, csv.field("id"))});
    if (found == runs.end()) {
      ++unknown;
      continue;
    }
    Example& example = *found->second;
    if (!replace(csv, example)) {
      ++incomplete;
      continue;
    }
    example.eager_campaign = name;
    const auto host = facts.host_time.find(table);
    example.host_time = (host == facts.host_time.end() ? 1 : host->second) * csv.number("host_factor").value_or(1);
    example.host_weight = facts.host_weight;
    example.counted = counted(facts.counted, example.workload.training);
  }
  if (unknown > 0) data.skipped.push_back({name + ": no such row to replace", unknown});
  if (incomplete > 0)
    data.skipped.push_back({name + ": the second measurement lacks the first one's energy", incomplete});
  return ok();
}

}  // namespace forerun
