// How far measurements are from themselves.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/csv.hpp"
#include "dataset/measured_again.hpp"
#include "evaluation/trees/tree_report.hpp"

namespace forerun {
namespace {

constexpr double kHostBound = 1.5;  // eager over replayed latency

// Each host-bound row predicted by the geometric mean of its network's other host-bound rows.
ReportTable host_bound_table(const TreeRows& rows) {
  std::map<std::pair<std::string, std::string>, double> replayed;
  for (const Example& e : rows.examples) {
    if (const auto found = e.metrics.find(kLatencyGraph); found != e.metrics.end())
      replayed[{e.campaign, e.row_id}] = found->second;
  }
  std::map<std::tuple<std::string, std::string, std::string, Phase>, std::vector<double>> by_network;
  for (const Example& e : rows.examples) {
    const auto eager = e.metrics.find(kLatencyEager);
    const auto graph = replayed.find({e.campaign, e.row_id});
    if (eager == e.metrics.end() || graph == replayed.end() || eager->second < kHostBound * graph->second) continue;
    by_network[{std::string(name_of(e.domain)), e.measured_in(kLatencyEager), e.network,
                e.workload.binding.phase.value_or(Phase::Forward)}]
        .push_back(std::log(eager->second));
  }
  std::map<std::pair<std::string, std::string>, std::vector<double>> errors;
  std::map<std::pair<std::string, std::string>, int> networks;
  for (const auto& [key, logs] : by_network) {
    if (logs.size() < 2) continue;
    double sum = 0;
    for (const double value : logs) sum += value;
    ++networks[{std::get<0>(key), std::get<1>(key)}];
    for (const double value : logs)
      errors[{std::get<0>(key), std::get<1>(key)}].push_back(
          100 * std::abs(std::exp((sum - value) / double(logs.size() - 1) - value) - 1));
  }
  ReportTable table{.caption = "Eager latency of host-bound rows, from the same network's other rows",
                    .columns = {"kind of run", "campaign", "networks", "rows", "MAPE %", "median %"},
                    .rows = {}};
  for (const auto& [key, values] : errors) {
    table.rows.push_back({key.first, key.second, std::to_string(networks[key]), std::to_string(values.size()),
                          fmt::format("{:.1f}", repeated(values).mean), fmt::format("{:.1f}", quantile(values, 0.5))});
  }
  return table;
}

// Calls visit(csv) for every row of the table.
Status each_row(const std::filesystem::path& path, const auto& visit) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return ok();
    visit(csv);
  }
}

// The first measurements of eager runs against the second ones that took their place.
Result<ReportTable> again_table(const std::filesystem::path& data_folder) {
  constexpr std::array<const char*, 3> kColumns = {"latency_ms_median", "energy_j", "power_w"};
  using Key = std::array<std::string, 4>;  // again's campaign, the first one's, its table, column
  std::map<Key, std::vector<double>> ratios;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder)) {
    if (!has_measured_again(entry.path().string())) continue;
    std::map<std::pair<std::string, std::string>, std::map<std::string, std::array<double, 3>>>
        second;  // by campaign and table, by id
    FORERUN_CHECK(each_row(entry.path() / "again.csv", [&](const CsvReader& csv) {
      auto& values =
          second[{std::string(csv.field("campaign")), std::string(csv.field("table"))}][std::string(csv.field("id"))];
      for (std::size_t c = 0; c < kColumns.size(); ++c) values[c] = csv.number(kColumns[c]).value_or(0);
    }));
    for (const auto& [of, rows] : second) {
      FORERUN_CHECK(each_row(data_folder / of.first / (of.second + ".csv"), [&](const CsvReader& csv) {
        const auto found = rows.find(std::string(csv.field("id")));
        for (std::size_t c = 0; found != rows.end() && c < kColumns.size(); ++c) {
          const double first = csv.number(kColumns[c]).value_or(0);
          if (first > 0 && found->second[c] > 0)
            ratios[{entry.path().filename().string(), of.first, of.second, kColumns[c]}].push_back(first /
                                                                                                   found->second[c]);
        }
      }));
    }
  }
  ReportTable table{.caption = "Eager runs measured again on a quiet host: the first measurement against the second",
                    .columns = {"measured again", "first measured", "runs", "metric", "rows", "median ratio",
                                "mean gap around it %", "median gap %"},
                    .rows = {}};
  for (auto& [key, values] : ratios) {
    const double middle = quantile(values, 0.5);
    for (double& value : values) value = 100 * std::abs(value / middle - 1);
    table.rows.push_back({key[0], key[1], key[2], key[3], std::to_string(values.size()), fmt::format("{:.2f}", middle),
                          fmt::format("{:.1f}", repeated(values).mean), fmt::format("{:.1f}", quantile(values, 0.5))});
  }
  return table;
}

}  // namespace

Result<ReportSection> report_noise(const TreeStudy& study, const std::string& data_folder) {
  ReportSection section;
  section.id = "noise";
  section.heading = "Noise: the same row measured twice";
  section.text =
      "Rows that were measured twice, each time in a new process: those of the second and third campaign with the same "
      "protocol, those of the fifth with the sixth's, those of the sixth on another machine. No predictor can be "
      "closer to a measurement than a second measurement is. Eager runs of the first five campaigns that were measured "
      "again on a quiet host count with the second measurement; the second table compares the two after removing the "
      "host speed (the median ratio). Energy of the first two campaigns includes the reading of the counter. A "
      "host-bound network takes about the same eager time at every small batch and in every precision: the third table "
      "predicts each such row from the network's other rows. The error that remains is host noise during the campaign "
      "(least in the fifth and sixth) and the extra host time of 16-bit convolutions. Energy, power and training steps "
      "contain it too, so it is a floor for every predictor.";
  std::map<std::pair<std::string, std::string>, std::vector<double>> gaps;  // by metric and campaign
  for (const auto& entry : std::filesystem::directory_iterator(data_folder)) {
    const auto path = entry.path() / "repeat.csv";
    if (!std::filesystem::exists(path)) continue;
    FORERUN_CHECK(each_row(path, [&](const CsvReader& csv) {
      for (const std::string& column : csv.columns()) {
        if (!column.ends_with("_first")) continue;
        const std::string metric = column.substr(0, column.size() - 6);
        const auto a = csv.number(column), b = csv.number(metric + "_second");
        if (a && b && *a > 0) gaps[{metric, entry.path().filename().string()}].push_back(100 * std::abs(*b / *a - 1));
      }
    }));
  }
  ReportTable table{
      .caption = "", .columns = {"metric", "campaign", "rows", "mean gap %", "median gap %", "largest %"}, .rows = {}};
  for (const auto& [of, values] : gaps) {
    table.rows.push_back({of.first, of.second, std::to_string(values.size()),
                          fmt::format("{:.1f}", repeated(values).mean), fmt::format("{:.1f}", quantile(values, 0.5)),
                          fmt::format("{:.1f}", quantile(values, 1))});
  }
  section.tables.push_back(std::move(table));
  FORERUN_TRY(ReportTable again, again_table(data_folder));
  section.tables.push_back(std::move(again));
  section.tables.push_back(host_bound_table(study.rows));
  return section;
}

}  // namespace forerun
