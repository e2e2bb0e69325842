// How far measurements are from themselves.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/csv.hpp"
#include "lab/trees/tree_report.hpp"

namespace forerun {
namespace {

constexpr double kHostBound = 1.5;  // eager over replayed latency

// Each host-bound row predicted by the geometric mean of its network's other host-bound rows.
ReportTable host_bound_table(const TreeRows& rows) {
  std::map<std::pair<std::string, std::string>, double> replayed;
  for (const Example& e : rows.examples) {
    if (const auto found = e.metrics.find(kLatencyGraph); found != e.metrics.end()) replayed[{e.campaign, e.row_id}] = found->second;
  }
  std::map<std::tuple<std::string, std::string, std::string, Phase>, std::vector<double>> by_network;
  for (const Example& e : rows.examples) {
    const auto eager = e.metrics.find(kLatencyEager);
    const auto graph = replayed.find({e.campaign, e.row_id});
    if (eager == e.metrics.end() || graph == replayed.end() || eager->second < kHostBound * graph->second) continue;
    by_network[{std::string(name_of(e.domain)), e.campaign, e.network, e.workload.binding.phase.value_or(Phase::Forward)}].push_back(std::log(eager->second));
  }
  std::map<std::pair<std::string, std::string>, std::vector<double>> errors;
  std::map<std::pair<std::string, std::string>, int> networks;
  for (const auto& [key, logs] : by_network) {
    if (logs.size() < 2) continue;
    double sum = 0;
    for (const double value : logs) sum += value;
    ++networks[{std::get<0>(key), std::get<1>(key)}];
    for (const double value : logs) errors[{std::get<0>(key), std::get<1>(key)}].push_back(100 * std::abs(std::exp((sum - value) / double(logs.size() - 1) - value) - 1));
  }
  ReportTable table{.caption = "Eager latency of host-bound rows, from the same network's other rows", .columns = {"kind of run", "campaign", "networks", "rows", "MAPE %", "median %"}, .rows = {}};
  for (const auto& [key, values] : errors) {
    table.rows.push_back({key.first, key.second, std::to_string(networks[key]), std::to_string(values.size()), fmt::format("{:.1f}", repeated(values).mean), fmt::format("{:.1f}", quantile(values, 0.5))});
  }
  return table;
}

}  // namespace

Result<ReportSection> report_noise(const TreeStudy& study, const std::string& data_folder) {
  ReportSection section;
  section.id = "noise";
  section.heading = "Noise: the same row measured twice";
  section.text = "Rows that were measured again in another process: of the second and third campaigns in the same way, of the fifth in the sixth's way, of the sixth on another lease (campaigns.md). No predictor can be closer to a measurement than the measurement is to itself. "
                 "A network that waits for its host takes about the same eager time at every small batch and in every precision; the second table predicts each such row from the network's other ones. What "
                 "it misses is the host's own unrest while the campaign ran (least in the fifth and sixth, which waited for quiet moments) and what 16-bit convolutions cost the host more, and energy, power and training steps carry it too: a floor for every predictor.";
  std::map<std::pair<std::string, std::string>, std::vector<double>> gaps;  // by metric and campaign
  for (const auto& entry : std::filesystem::directory_iterator(data_folder)) {
    const auto path = entry.path() / "repeat.csv";
    if (!std::filesystem::exists(path)) continue;
    FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
    while (true) {
      FORERUN_TRY(const bool more, csv.next());
      if (!more) break;
      for (const std::string& column : csv.columns()) {
        if (!column.ends_with("_first")) continue;
        const std::string metric = column.substr(0, column.size() - 6);
        const auto a = csv.number(column), b = csv.number(metric + "_second");
        if (a && b && *a > 0) gaps[{metric, entry.path().filename().string()}].push_back(100 * std::abs(*b / *a - 1));
      }
    }
  }
  ReportTable table{.caption = "", .columns = {"metric", "campaign", "rows", "mean gap %", "median gap %", "largest %"}, .rows = {}};
  for (const auto& [of, values] : gaps) {
    table.rows.push_back({of.first, of.second, std::to_string(values.size()), fmt::format("{:.1f}", repeated(values).mean), fmt::format("{:.1f}", quantile(values, 0.5)),
                          fmt::format("{:.1f}", quantile(values, 1))});
  }
  section.tables.push_back(std::move(table));
  section.tables.push_back(host_bound_table(study.rows));
  return section;
}

}  // namespace forerun
