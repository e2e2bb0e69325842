#include "dataset/load_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/archive.hpp"
#include "base/csv.hpp"
#include "dataset/campaign_facts.hpp"
#include "dataset/measured_again.hpp"
#include "readers/onnx/onnx_reader.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using Networks = std::map<std::string, std::shared_ptr<const Network>, std::less<>>;

struct MetricColumn {
  std::string_view column;
  std::string_view metric;
};
constexpr std::array<MetricColumn, 8> kInferenceColumns = {{{"latency_ms_median", kLatencyEager},
                                                            {"graph_replay_ms_median", kLatencyGraph},
                                                            {"peak_allocated_mb", kMemory},
                                                            {"process_mb", kDeviceMemory},
                                                            {"energy_j", kEnergy},
                                                            {"power_w", kPower},
                                                            {"graph_energy_j", kEnergyGraph},
                                                            {"graph_power_w", kPowerGraph}}};
constexpr std::array<MetricColumn, 5> kTrainingColumns = {{{"latency_ms_median", kStep},
                                                           {"peak_allocated_mb", kMemory},
                                                           {"process_mb", kDeviceMemory},
                                                           {"energy_j", kEnergy},
                                                           {"power_w", kPower}}};

struct CampaignFile {
  std::string_view stem;
  RunKind domain;
};
constexpr std::array<CampaignFile, 4> kFiles = {{{"vision_inference", RunKind::VisionInference},
                                                 {"vision_training", RunKind::VisionTraining},
                                                 {"llm_inference", RunKind::LanguageInference},
                                                 {"llm_training", RunKind::LanguageTraining}}};

std::optional<std::string> find_file(const fs::path& folder, std::string_view stem) {
  for (const char* extension : {".csv", ".csv.gz", ".csv.xz"}) {
    const fs::path path = folder / (std::string(stem) + extension);
    if (fs::exists(path)) return path.string();
  }
  return std::nullopt;
}

class CampaignLoader {
 public:
  CampaignLoader(fs::path folder, CampaignFacts facts) : folder_(std::move(folder)), facts_(std::move(facts)) {}

  Result<Dataset> load() {
    for (const CampaignFile& file : kFiles) {
      if (const auto path = find_file(folder_, file.stem)) FORERUN_CHECK(read_file(*path, file));
    }
    FORERUN_CHECK(attach_graphs());
    for (const auto& [reason, rows] : skipped_) data_.skipped.push_back({reason, rows});
    return std::move(data_);
  }

 private:
  Status read_file(const std::string& path, const CampaignFile& file) {
    FORERUN_TRY(CsvReader csv, CsvReader::open(path));
    for (const std::string_view column : {"id", "batch", "precision", "latency_ms_median"}) {
      if (!csv.column(column)) return bad_input(fmt::format("{}: no column {}", path, column));
    }
    while (true) {
      FORERUN_TRY(const bool more, csv.next());
      if (!more) return ok();
      FORERUN_CHECK(read_row(csv, file));
    }
  }

  Status read_row(const CsvReader& csv, const CampaignFile& file) {
    const std::string_view status = csv.field("status");
    if (!status.empty() && status != "ok") return skip(file, "the run failed");
    Example example;
    example.domain = file.domain;
    example.campaign = folder_.filename().string();
    example.row_id = fmt::format("{}/{}", file.stem, csv.field("id"));
    example.device = csv.field("device").empty() ? facts_.device : std::string(csv.field("device"));
    example.network = std::string(csv.field(csv.column("arch") ? "arch" : csv.column("model") ? "model" : "network"));
    example.family = std::string(csv.field("family"));
    FORERUN_CHECK(read_settings(csv, file, example));
    read_metrics(csv, example);
    if (const auto found = facts_.host_time.find(file.stem); found != facts_.host_time.end())
      example.host_time = found->second;
    example.host_weight = facts_.host_weight;
    example.counted = counted(facts_.counted, example.workload.training);
    if (example.metrics.empty()) return skip(file, "nothing was measured");
    std::string_view graph = csv.field(is_language(file.domain) ? "config" : "graph");
    if (graph.empty() && csv.column("graph")) graph = csv.field("graph");
    if (graph.empty()) return skip(file, "no graph was exported at this resolution");
    // A configuration runs other kernels inside a CUDA graph than eagerly: such a row is two examples.
    const auto of_replay = [](const auto& metric) {
      return metric.first == kLatencyGraph || metric.first == kEnergyGraph || metric.first == kPowerGraph;
    };
    const auto replays = std::count_if(example.metrics.begin(), example.metrics.end(), of_replay);
    if (is_language(file.domain) && replays > 0 && std::size_t(replays) < example.metrics.size()) {
      Example replayed = example;
      replayed.workload.runtime = Runtime::Graph;
      std::erase_if(replayed.metrics, [&](const auto& metric) { return !of_replay(metric); });
      std::erase_if(example.metrics, of_replay);
      graph_of_.emplace_back(graph);
      data_.examples.push_back(std::move(replayed));
    }
    graph_of_.emplace_back(graph);
    data_.examples.push_back(std::move(example));
    return ok();
  }

  Status read_settings(const CsvReader& csv, const CampaignFile& file, Example& example) {
    const auto wrong = [&](std::string_view what) {
      return bad_input(fmt::format("{}: line {}: {} is '{}'", csv.name(), csv.line(), what, csv.field(what)));
    };
    Workload& workload = example.workload;
    const auto batch = csv.number("batch");
    if (!batch || *batch < 1) return wrong("batch");
    workload.binding.batch = std::int64_t(*batch);
    const auto precision = parse_precision(csv.field("precision"));
    if (!precision) return wrong("precision");
    workload.precision = workload.binding.precision = *precision;
    workload.training = workload.binding.training = file.stem.ends_with("_training");
    if (workload.training) {
      const auto optimizer = parse_optimizer(csv.field("optimizer").empty() ? "sgd" : csv.field("optimizer"));
      if (!optimizer) return wrong("optimizer");
      workload.optimizer = *optimizer;
    }
    if (const auto sequence = csv.number("sequence")) workload.binding.seq = std::int64_t(*sequence);
    if (!csv.field("phase").empty()) {
      const auto phase = parse_phase(csv.field("phase"));
      if (!phase) return wrong("phase");
      workload.binding.phase = *phase;
    }
    return ok();
  }

  static void read_metrics(const CsvReader& csv, Example& example) {
    const auto take = [&](const auto& columns) {
      for (const auto& [column, metric] : columns) {
        const auto value = csv.number(column);
        if (value && *value > 0) example.metrics.emplace(metric, *value);
      }
    };
    if (example.workload.training) {
      take(kTrainingColumns);
    } else {
      take(kInferenceColumns);
    }
    const auto p10 = csv.number("latency_ms_p10"), p90 = csv.number("latency_ms_p90"),
               middle = csv.number("latency_ms_median");
    if (p10 && p90 && middle && *middle > 0) example.spread = (*p90 - *p10) / *middle;
  }

  Status skip(const CampaignFile& file, std::string_view reason) {
    ++skipped_[fmt::format("{}, {}: {}", folder_.filename().string(), file.stem, reason)];
    return ok();
  }

  // Graphs come from the archive in one pass, else from their folder, as configurations do.
  Status attach_graphs() {
    const std::set<std::string> wanted(graph_of_.begin(), graph_of_.end());
    Networks networks;
    for (const char* name : {"graphs.tar.xz", "graphs.tar.gz", "graphs.tar"}) {
      if (!fs::exists(folder_ / name)) continue;
      FORERUN_CHECK(visit_tar((folder_ / name).string(), [&](TarMember member) -> Status {
        const std::string file = fs::path(member.name).filename().string();
        if (!wanted.contains(file)) return ok();
        FORERUN_TRY(auto network, read_onnx(member.bytes, file, {}));
        networks[file] = std::move(network);
        return ok();
      }));
    }
    for (const std::string& file : wanted) {
      for (const char* place : {"configs", "graphs"}) {
        const fs::path path = folder_ / place / file;
        if (networks.contains(file) || !fs::exists(path)) continue;
        FORERUN_TRY(auto network, read_network(path.string()));
        networks[file] = std::move(network);
      }
    }
    std::vector<Example> kept;
    for (std::size_t i = 0; i < graph_of_.size(); ++i) {
      const auto found = networks.find(graph_of_[i]);
      if (found == networks.end()) {
        ++skipped_[fmt::format("{}: its graph is not in the campaign", folder_.filename().string())];
        continue;
      }
      data_.examples[i].net = found->second;
      kept.push_back(std::move(data_.examples[i]));
    }
    data_.examples = std::move(kept);
    return ok();
  }

  fs::path folder_;
  CampaignFacts facts_;
  Dataset data_;
  std::vector<std::string> graph_of_;  // by example
  std::map<std::string, std::int64_t> skipped_;
};

bool is_campaign(const fs::path& folder) {
  return std::any_of(kFiles.begin(), kFiles.end(),
                     [&](const CampaignFile& f) { return find_file(folder, f.stem).has_value(); });
}

}  // namespace

Result<Dataset> load_campaign(const std::string& folder, const LoadOptions& options) {
  const fs::path path = fs::path(folder).lexically_normal();
  const fs::path named = path.has_filename() ? path : path.parent_path();
  if (!fs::is_directory(named)) return not_found(folder + ": no such folder");
  FORERUN_TRY(CampaignFacts facts, read_campaign_facts(named.string(), options.device));
  return CampaignLoader(named, std::move(facts)).load();
}

Result<Dataset> load_measurements(const std::string& folder, const LoadOptions& options) {
  if (!fs::is_directory(folder)) return not_found(folder + ": no such folder");
  if (is_campaign(folder)) return load_campaign(folder, options);
  std::vector<std::string> campaigns, again;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && is_campaign(entry.path())) campaigns.push_back(entry.path().string());
    if (has_measured_again(entry.path().string())) again.push_back(entry.path().string());
  }
  std::sort(campaigns.begin(), campaigns.end());
  std::sort(again.begin(), again.end());
  if (campaigns.empty())
    return not_found(folder + ": no campaign (a folder with vision_inference.csv or the like) in it");
  Dataset all;
  for (const std::string& campaign : campaigns) {
    FORERUN_TRY(Dataset one, load_campaign(campaign, options));
    std::move(one.examples.begin(), one.examples.end(), std::back_inserter(all.examples));
    std::move(one.skipped.begin(), one.skipped.end(), std::back_inserter(all.skipped));
  }
  for (const std::string& folder_again : again) FORERUN_CHECK(replace_measured_again(folder_again, all));
  return all;
}

}  // namespace forerun
