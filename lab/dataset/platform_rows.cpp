#include "dataset/platform_rows.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/analyze.hpp"
#include "base/archive.hpp"
#include "base/csv.hpp"
#include "base/text_file.hpp"
#include "dataset/public_networks.hpp"
#include "readers/onnx/onnx_reader.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

Result<OperatorSums> sums_of(const Network& network, Precision precision, std::int64_t batch) {
  Workload workload;
  workload.binding.batch = batch;
  workload.binding.precision = precision;
  workload.precision = precision;
  FORERUN_TRY(const Graph graph, analyze(network, workload.binding));
  return sum_operators(list_kernels(graph, workload));
}

// HELP's rows: one graph per architecture, a column per platform.
Status load_help(const std::vector<PlatformSource>& sources, const PlatformRowOptions& options, PlatformRows& out) {
  std::map<std::string, const PlatformSource*> by_column;
  for (const PlatformSource& source : sources) {
    if (!source.column.empty()) by_column.emplace(source.column, &source);
  }
  std::vector<std::string> columns;
  for (const auto& [column, source] : by_column) columns.push_back(column);
  return visit_search_spaces(options.folder, options.architectures, columns, [&](const SpaceRow& row) -> Status {
    std::map<std::int64_t, OperatorSums> sums;  // by batch
    for (const auto& [column, measured] : row.latency_ms) {
      const PlatformSource& source = *by_column.at(column);
      const std::int64_t batch = batch_of_column(column);
      if (measured < source.least_ms) {
        ++out.broken;
        continue;
      }
      if (!sums.contains(batch)) {
        FORERUN_TRY(sums[batch], sums_of(*row.network, Precision::Fp32, batch));
      }
      out.rows.push_back({source.id, row.name, row.family, Precision::Fp32, sums[batch], measured});
    }
    return ok();
  });
}

struct HubPrecision {
  std::string_view name;
  Precision precision;
};
constexpr std::array kHubPrecisions = {HubPrecision{"float", Precision::Fp16}, HubPrecision{"w8a8", Precision::Int8}};

// TFLite on the NPU, whose "float" runs in 16 bits.
Status load_hub(const std::vector<PlatformSource>& sources, const PlatformRowOptions& options, PlatformRows& out) {
  const std::string path = (fs::path(options.folder) / "qualcomm_ai_hub_perf.csv.gz").string();
  if (!fs::exists(path) || !fs::exists(options.graphs)) return ok();
  std::map<std::string, std::map<Precision, OperatorSums>> networks;
  FORERUN_CHECK(visit_tar(options.graphs, [&](TarMember member) -> Status {
    const fs::path file(member.name);
    if (file.extension() != ".onnx") return ok();
    const std::string stem = file.stem().string();
    FORERUN_TRY(const auto network, read_onnx(member.bytes, file.filename().string(), {}));
    for (const HubPrecision& row : kHubPrecisions) {
      FORERUN_TRY(networks[stem.substr(0, stem.rfind('_'))][row.precision], sums_of(*network, row.precision, 1));
    }
    return ok();
  }));
  std::map<std::string, const PlatformSource*> by_name;
  for (const PlatformSource& source : sources) {
    if (!source.hub_name.empty()) by_name.emplace(source.hub_name, &source);
  }
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return ok();
    const auto network = networks.find(std::string(csv.field("model")));
    const auto source = by_name.find(std::string(csv.field("device")));
    const auto ms = csv.number("latency_ms");
    if (network == networks.end() || source == by_name.end() || !ms || *ms <= 0 || csv.field("runtime") != "tflite" ||
        csv.field("compute_unit") != "NPU" || csv.field("status") != "Passed")
      continue;
    for (const HubPrecision& row : kHubPrecisions) {
      if (row.name == csv.field("precision"))
        out.rows.push_back(
            {source->second->id, network->first, "torchvision", row.precision, network->second.at(row.precision), *ms});
    }
  }
}

}  // namespace

Result<std::vector<PlatformSource>> read_platform_sources(const std::string& path) {
  FORERUN_TRY(const std::string text, read_text_file(path));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return bad_input(path + ": not a list of platforms");
  std::vector<PlatformSource> sources;
  for (const auto& row : json) {
    const auto word = [&](const char* key) { return row.is_object() ? row.value(key, std::string()) : std::string(); };
    sources.push_back({word("id"), word("name"), word("kind"), word("description"), word("source"), word("column"),
                       word("hub_name"), row.is_object() ? row.value("least_ms", 0.0) : 0.0});
    if (sources.back().id.empty() || sources.back().column.empty() == sources.back().hub_name.empty())
      return bad_input(path + ": each platform needs an 'id' and either 'column' or 'hub_name'");
  }
  return sources;
}

Result<PlatformRows> load_platform_rows(const std::vector<PlatformSource>& sources, const PlatformRowOptions& options) {
  PlatformRows out;
  FORERUN_CHECK(load_help(sources, options, out));
  FORERUN_CHECK(load_hub(sources, options, out));
  if (out.rows.empty())
    return not_found(options.folder + ": holds none of help_*.csv.gz and qualcomm_ai_hub_perf.csv.gz");
  return out;
}

}  // namespace forerun
