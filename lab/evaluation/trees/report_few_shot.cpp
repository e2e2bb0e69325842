// A few measured rows of a new device: the section of docs/accuracy/detail.md, with the very correction that `adapt`
// makes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "evaluation/trees/left_out.hpp"
#include "evaluation/trees/tree_report.hpp"
#include "predictors/trees/correction.hpp"

namespace forerun {
namespace {

using Group = std::vector<std::size_t>;  // rows of one device and metric

// Rows in the order a seed draws their networks; a network's rows stay together.
Group drawn(const TreeRows& rows, Group group, std::uint64_t seed) {
  std::sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::tuple(mix_seed(rows.examples[i].network, seed), rows.examples[i].network,
                        mix_seed(rows.examples[i].row_id, seed));
    };
    return key(a) < key(b);
  });
  return group;
}

struct Shots {
  std::vector<double> mape, coverage, width;
};

}  // namespace

Result<ReportSection> report_few_shot(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress) {
  ReportSection section;
  section.id = "few-shot";
  section.heading = "A few measurements of a new device";
  section.text = fmt::format(
      "The device is left out as in the section above; then 10 to 300 of its rows correct the answers, as `forerun-lab "
      "adapt` does. The judged rows belong to networks of which no row was used, and are the same for every number of "
      "rows. MAPE in percent, mean ± spread over {} seeds, and coverage of the 90 % interval.",
      options.seeds);
  const TreeRows& rows = study.elsewhere;
  if (rows.examples.empty()) {
    section.text += " The public tables are not here: nothing to judge.";
    return section;
  }
  FORERUN_TRY(const LeftOutAnswers answers, leave_devices_out(study, false, progress));
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (std::size_t i = 0; i < rows.examples.size(); ++i) {
    groups[{rows.examples[i].device,
            std::string(rows.examples[i].metrics.contains(kLatencyGraph) ? kLatencyGraph : kLatencyEager)}]
        .push_back(i);
  }
  ReportTable table{
      .caption = "Rows of the new device (MAPE, %)", .columns = {"device", "metric", "judged"}, .rows = {}};
  for (const std::size_t shots : kFewShotSizes) table.columns.push_back(fmt::format("{} rows", shots));
  ReportTable covers{.caption = "90 % interval: covers % (width %)", .columns = table.columns, .rows = {}};
  std::map<std::size_t, Shots> all;
  const std::size_t most = *std::max_element(std::begin(kFewShotSizes), std::end(kFewShotSizes));
  for (const auto& [key, group] : groups) {
    const RunMetric metric = key.second == kLatencyGraph ? RunMetric::LatencyGraph : RunMetric::LatencyEager;
    const double unmeasured = left_out_half_width(rows, answers, answers.learned, key.second, key.first);
    std::map<std::size_t, Shots> found;
    std::size_t judged_rows = 0;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      const Group order = drawn(rows, group, std::uint64_t(seed));
      std::size_t first = std::min(most, order.size());  // of the judged
      while (first < order.size() && first > 0 &&
             rows.examples[order[first]].network == rows.examples[order[first - 1]].network)
        ++first;
      if (order.size() - first < 20) continue;
      judged_rows = order.size() - first;
      for (const std::size_t shots : kFewShotSizes) {
        std::vector<CorrectionRow> measured;
        for (std::size_t r = 0; r < shots; ++r) {
          const std::size_t i = order[r];
          measured.push_back({answers.learned[i], answers.measured[i], correction_point(answers.inputs[i], metric)});
        }
        const MetricCorrection correction = fit_correction(measured);
        std::vector<Judged> judged;
        for (std::size_t r = first; r < order.size(); ++r) {
          const std::size_t i = order[r];
          const CorrectionPoint point = correction_point(answers.inputs[i], metric);
          const double p = answers.learned[i] * std::exp(correction.log_factor(point)),
                       half = shots == 0 ? unmeasured : correction.half_width(point);
          judged.push_back({answers.measured[i], p, p * std::exp(-half), p * std::exp(half), rows.examples[i].family,
                            key.first, rows.examples[i].network});
        }
        const Accuracy a = measure_accuracy(judged);
        for (Shots* s : {&found[shots], &all[shots]}) {
          s->mape.push_back(a.mape);
          s->coverage.push_back(a.coverage);
          s->width.push_back(a.width);
        }
      }
    }
    if (found.empty()) continue;
    std::vector<std::string> cells = {key.first, key.second, std::to_string(judged_rows)}, interval = cells;
    for (auto& [shots, s] : found) {
      cells.push_back(shots == 0 ? fmt::format("{:.1f}", repeated(s.mape).mean) : percent_cell(repeated(s.mape)));
      interval.push_back(fmt::format("{:.0f} ({:.0f})", repeated(s.coverage).mean, repeated(s.width).mean));
    }
    std::string line = "few-shot";
    for (const std::string& cell : cells) line += "  " + cell;
    progress(line);
    table.rows.push_back(std::move(cells));
    covers.rows.push_back(std::move(interval));
  }
  std::vector<std::string> mean = {"all", "", ""}, interval = mean;
  for (auto& [shots, s] : all) {
    mean.push_back(fmt::format("{:.1f}", repeated(s.mape).mean));
    interval.push_back(fmt::format("{:.0f} ({:.0f})", repeated(s.coverage).mean, repeated(s.width).mean));
  }
  table.rows.push_back(std::move(mean));
  covers.rows.push_back(std::move(interval));
  section.tables = {std::move(table), std::move(covers)};
  return section;
}

}  // namespace forerun
