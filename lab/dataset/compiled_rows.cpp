#include "dataset/compiled_rows.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/archive.hpp"
#include "base/csv.hpp"
#include "dataset/campaign_facts.hpp"
#include "dataset/load_campaign.hpp"
#include "readers/onnx/onnx_reader.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// The family of a timm network: its name up to the first digit, separator or size.
std::string family_of(std::string_view name) { return std::string(name.substr(0, name.find_first_of("_0123456789"))); }

class CompiledLoader {
 public:
  explicit CompiledLoader(std::vector<Example> examples) : examples_(std::move(examples)) {
    for (std::size_t i = 0; i < examples_.size(); ++i) {
      const Example& e = examples_[i];
      const std::string key = e.campaign + "/" + e.row_id;
      const auto [found, is_new] = runs_.try_emplace(key, i);
      if (!is_new && e.workload.runtime == Runtime::Graph) found->second = i;  // the replay of a language model's row
    }
  }

  Status read(const std::string& folder) {
    FORERUN_TRY(const CampaignFacts facts, read_campaign_facts(folder));
    FORERUN_TRY(CsvReader csv, CsvReader::open((fs::path(folder) / "compiled.csv").string()));
    while (true) {
      FORERUN_TRY(const bool more, csv.next());
      if (!more) return ok();
      CompiledRow row;
      row.latency_ms = csv.number("compiled_replay_ms_median").value_or(0);
      row.memory_mb = csv.number("compiled_peak_allocated_mb").value_or(0);
      row.power_w = csv.number("compiled_power_w").value_or(0);
      row.replay_ms = csv.number("graph_replay_ms_median").value_or(0);
      row.replay_memory_mb = csv.number("peak_allocated_mb").value_or(0);
      const std::string table(csv.field("table"));
      if (row.latency_ms <= 0 || table == "vision_training") continue;
      if (table == "timm") {
        FORERUN_CHECK(read_timm(csv, facts.device, row));
      } else {
        const auto found = runs_.find(fmt::format("{}/{}/{}", csv.field("campaign"), table, csv.field("id")));
        if (found == runs_.end()) continue;
        row.run = examples_[found->second];
      }
      rows_.push_back(std::move(row));
    }
  }

  Result<std::vector<CompiledRow>> with_graphs(const std::string& archive) {
    if (wanted_.empty()) return std::move(rows_);
    std::map<std::string, std::shared_ptr<const Network>> graphs;
    FORERUN_CHECK(visit_tar(archive, [&](TarMember member) -> Status {
      const std::string file = fs::path(member.name).filename().string();
      if (!wanted_.contains(file)) return ok();
      FORERUN_TRY(graphs[file], read_onnx(member.bytes, file, {}));
      return ok();
    }));
    std::vector<CompiledRow> known;
    for (CompiledRow& row : rows_) {
      if (!row.run.net) row.run.net = graphs[row.run.network + ".onnx"];
      if (row.run.net) known.push_back(std::move(row));
    }
    return known;
  }

 private:
  Status read_timm(const CsvReader& csv, const std::string& device, CompiledRow& row) {
    const std::string graph(csv.field("graph"));
    const auto batch = csv.number("batch");
    const auto precision = parse_precision(csv.field("precision"));
    if (!batch || *batch < 1 || !precision)
      return bad_input(fmt::format("{}: line {}: batch or precision", csv.name(), csv.line()));
    wanted_.insert(graph);
    row.run.device = device;
    row.run.campaign = "timm";
    row.run.row_id = std::string(csv.field("id"));
    row.run.network = fs::path(graph).stem().string();
    row.run.family = family_of(graph);
    row.run.workload.binding.batch = std::int64_t(*batch);
    row.run.workload.precision = row.run.workload.binding.precision = *precision;
    return ok();
  }

  std::vector<Example> examples_;
  std::map<std::string, std::size_t> runs_;
  std::set<std::string> wanted_;
  std::vector<CompiledRow> rows_;
};

}  // namespace

Result<std::vector<CompiledRow>> load_compiled_rows(const std::string& folder, const std::string& timm_graphs) {
  FORERUN_TRY(Dataset data, load_measurements(folder));
  CompiledLoader loader(std::move(data.examples));
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "compiled.csv")) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  for (const std::string& one : folders) FORERUN_CHECK(loader.read(one));
  return loader.with_graphs(timm_graphs);
}

}  // namespace forerun
