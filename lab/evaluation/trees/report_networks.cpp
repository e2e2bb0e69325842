#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "evaluation/plots.hpp"
#include "evaluation/trees/tree_report.hpp"

namespace forerun {
namespace {

constexpr std::array kProtocols = {SplitKind::AsPublished, SplitKind::ByArchitecture, SplitKind::LeaveOneFamilyOut};

std::string unit_of(RunMetric metric) {
  const std::string name(name_of(metric));
  return name.substr(name.rfind('_') + 1);
}

HeldOut roofline_held(const MetricRows& rows) {
  HeldOut held;
  held.predicted = rows.roofline;
  held.fold.assign(rows.measured.size(), 0);
  held.unfamiliarity.assign(rows.measured.size(), 0);
  return held;
}

std::vector<std::string> row_of(const std::string& protocol, const std::string& predictor,
                                std::span<const Accuracy> repeats) {
  std::vector<std::string> cells = {protocol, predictor};
  const auto numbers = accuracy_cells(repeats);
  cells.insert(cells.end(), numbers.begin(), numbers.end());
  return cells;
}

Status save(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? ok() : Status(Error{ErrorKind::Io, path.string() + ": cannot be written"});
}

struct MetricReport {
  ReportTable table;
  std::array<std::vector<Accuracy>, 3> trees;
  std::array<Accuracy, 3> log_linear, plain;
  Accuracy roofline;
  std::vector<Judged> by_architecture;
  std::map<std::string, std::array<std::vector<double>, 3>> campaigns;  // MAPE of each repeat, by protocol
  std::map<std::string, std::size_t> campaign_rows;
};

void add_campaigns(const TreeStudy& study, RunMetric metric, const MetricRows& rows, const HeldOut& held,
                   std::size_t protocol, MetricReport& report) {
  std::map<std::string, std::vector<double>> errors;
  for (std::size_t i = 0; i < rows.measured.size(); ++i) {
    if (held.fold[i] >= 0)
      errors[study.rows.examples[rows.example[i]].measured_in(name_of(metric))].push_back(
          100 * std::abs(held.predicted[i] / rows.measured[i] - 1));
  }
  for (const auto& [campaign, of] : errors) {
    report.campaigns[campaign][protocol].push_back(repeated(of).mean);
    report.campaign_rows[campaign] = of.size();
  }
}

Result<MetricReport> report_metric(const TreeStudy& study, RunKind domain, RunMetric metric,
                                   const TreeReportOptions& options) {
  const MetricRows rows = metric_rows(study.rows, domain, metric);
  MetricReport report;
  report.table.caption = fmt::format("{}: {}", name_of(domain), name_of(metric));
  report.table.columns = {"protocol", "predictor"};
  for (const std::string& column : accuracy_columns()) report.table.columns.push_back(column);
  report.roofline = measure_accuracy(judge(study.rows, rows, roofline_held(rows), nullptr, nullptr));
  FORERUN_TRY(const HeldOut unfamiliar,
              hold_out(study, domain, metric, SplitKind::LeaveOneFamilyOut, 1, options.threads));
  for (int seed = 1; seed <= options.seeds; ++seed) {
    FORERUN_TRY(const HeldOut known,
                hold_out(study, domain, metric, SplitKind::ByArchitecture, std::uint64_t(seed), options.threads));
    auto judged = judge(study.rows, rows, known, &known, nullptr);
    report.trees[1].push_back(measure_accuracy(judged));
    add_campaigns(study, metric, rows, known, 1, report);
    if (seed == 1) {
      report.by_architecture = std::move(judged);
      report.trees[2].push_back(measure_accuracy(judge(study.rows, rows, unfamiliar, &known, &unfamiliar)));
      add_campaigns(study, metric, rows, unfamiliar, 2, report);
    }
    FORERUN_TRY(const HeldOut random,
                hold_out(study, domain, metric, SplitKind::AsPublished, std::uint64_t(seed), options.threads));
    report.trees[0].push_back(measure_accuracy(judge(study.rows, rows, random, &random, nullptr)));
    add_campaigns(study, metric, rows, random, 0, report);
  }
  MetricTraining plain = shipped_training(domain, metric);
  plain.target = TargetKind::Plain;
  for (std::size_t p = 0; p < kProtocols.size(); ++p) {
    const std::string protocol(name_of(kProtocols[p]));
    report.log_linear[p] = measure_accuracy(
        judge(study.rows, rows, cross_validate_log_linear(study.rows, rows, kProtocols[p], 1), nullptr, nullptr));
    FORERUN_TRY(const HeldOut held, cross_validate(study.rows, rows, kProtocols[p], 1, plain, options.threads));
    report.plain[p] = measure_accuracy(judge(study.rows, rows, held, nullptr, nullptr));
    report.table.rows.push_back(row_of(protocol, "trees", report.trees[p]));
    report.table.rows.push_back(row_of(protocol, "plain-target XGBoost", std::span(&report.plain[p], 1)));
    report.table.rows.push_back(row_of(protocol, "log-linear fit", std::span(&report.log_linear[p], 1)));
    report.table.rows.push_back(row_of(protocol, "roofline", std::span(&report.roofline, 1)));
  }
  return report;
}

std::string mape_of(std::span<const Accuracy> repeats) {
  std::vector<double> values;
  for (const Accuracy& a : repeats) values.push_back(a.mape);
  return percent_cell(repeated(values));
}

}  // namespace

Result<ReportSection> report_networks(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress) {
  ReportSection section;
  section.id = "trees-networks";
  section.heading = "Trees: whole networks";
  section.text =
      "MAPE in percent on held-out rows of the H200 campaigns. *As published*: five folds of rows; other batch sizes "
      "of the same network may be in training. *By architecture*: five folds of networks; no network is in both. "
      "*Leave one family out*: each family is predicted from all others. Mean ± spread over " +
      std::to_string(options.seeds) +
      " seeds (leave-one-family-out has one split). Baselines: the roofline, a log-linear fit on totals, and XGBoost "
      "on the value itself. Intervals are conformal: their width comes from the errors of other folds, and grows with "
      "a network's distance from the training networks when a family is left out. `energy_j` and `power_w` are as "
      "recorded: in the first two campaigns the energy counter was read after every pass, which takes about 4 ms and "
      "is part of the energy of short passes. They are computed from latency and from a learned power per kernel; "
      "XGBoost and the log-linear fit are judged without the counter's time. Each row is judged with its own "
      "campaign's host speed, idle power and counter reading (`campaign.json`); answers given to users are for the "
      "first campaign's host, and so is the roofline's column. Eager times of the first four campaigns were taken on a "
      "host shared with others; the fifth and sixth campaign and the second measurements (`again` to `again-5`) waited "
      "for quiet moments. The table by campaign shows the difference.";
  ReportTable summary{.caption = "All metrics (MAPE, %)",
                      .columns = {"kind of run", "metric", "rows", "trees, as published", "trees, by architecture",
                                  "trees, leave one family out", "plain XGBoost, by architecture",
                                  "log-linear, by architecture", "roofline"},
                      .rows = {}};
  ReportTable campaigns{.caption = "The same held-out rows by campaign (MAPE, %)",
                        .columns = {"kind of run", "metric", "campaign", "rows", "as published", "by architecture",
                                    "leave one family out"},
                        .rows = {}};
  std::vector<ReportTable> details;
  for (const auto& [domain, metric] : learnable(study.rows)) {
    FORERUN_TRY(MetricReport report, report_metric(study, domain, metric, options));
    summary.rows.push_back({std::string(name_of(domain)), std::string(name_of(metric)),
                            std::to_string(report.roofline.rows), mape_of(report.trees[0]), mape_of(report.trees[1]),
                            mape_of(report.trees[2]), fmt::format("{:.1f}", report.plain[1].mape),
                            fmt::format("{:.1f}", report.log_linear[1].mape),
                            fmt::format("{:.1f}", report.roofline.mape)});
    std::string line;
    for (const std::string& cell : summary.rows.back()) line += cell + "  ";
    progress(line);
    for (const auto& [campaign, mapes] : report.campaigns) {
      campaigns.rows.push_back({std::string(name_of(domain)), std::string(name_of(metric)), campaign,
                                std::to_string(report.campaign_rows[campaign]), percent_cell(repeated(mapes[0])),
                                percent_cell(repeated(mapes[1])), percent_cell(repeated(mapes[2]))});
    }
    details.push_back(std::move(report.table));
    if (options.plots.empty()) continue;
    const std::string stem = fmt::format("{}-{}", name_of(domain), name_of(metric));
    const std::string title = fmt::format("{}: {}, by architecture", name_of(domain), name_of(metric));
    FORERUN_CHECK(save(std::filesystem::path(options.plots) / (stem + ".svg"),
                       plot_predicted(report.by_architecture, title, unit_of(metric))));
    std::map<std::string, std::vector<Judged>> by_family;
    for (const Judged& row : report.by_architecture) by_family[row.family].push_back(row);
    std::vector<std::pair<std::string, double>> bars;
    for (const auto& [family, rows] : by_family) bars.emplace_back(family, measure_accuracy(rows).mape);
    std::sort(bars.begin(), bars.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    FORERUN_CHECK(save(std::filesystem::path(options.plots) / (stem + "-families.svg"),
                       plot_bars(bars, title + ": MAPE by family")));
    section.images.push_back(stem + ".svg");
    section.images.push_back(stem + "-families.svg");
  }
  section.tables.push_back(std::move(summary));
  section.tables.push_back(std::move(campaigns));
  std::move(details.begin(), details.end(), std::back_inserter(section.tables));
  return section;
}

}  // namespace forerun
