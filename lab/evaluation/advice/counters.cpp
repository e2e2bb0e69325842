#include "evaluation/advice/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/svg.hpp"
#include "base/text_file.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
constexpr double kLarge = 64 * 1048576.0;  // more than an H200's L2 holds

struct JudgedOperator {
  const CounterRow* row;
  Traffic predicted;
  double predicted_us = 0, flops = 0;
};

Result<JudgedOperator> judge(const Questions& questions, const CounterRow& row) {
  nlohmann::json question = {{"operator", row.text}, {"device", "h200-sxm"}, {"precision", row.precision}};
  const bool is_backward = row.direction == "backward";
  if (is_backward) {
    question["train"] = true;
    question["optimizer"] = "none";
  }
  FORERUN_TRY(const RooflineReport report, questions.roofline(question));
  JudgedOperator judged{&row, {}};
  for (const RooflinePoint& point : report.points) {
    if ((point.stage == Stage::Backward) != is_backward) continue;
    add(judged.predicted, point.traffic);
    judged.predicted_us += point.time_ms * 1e3;
    judged.flops += point.flops;
  }
  return judged;
}

struct Level {
  const char* name;
  double Traffic::*predicted;
  double CounterRow::*measured;
};
constexpr Level kLevels[] = {{"memory", &Traffic::memory, &CounterRow::memory_bytes},
                             {"L2", &Traffic::l2, &CounterRow::l2_bytes},
                             {"L1", &Traffic::l1, &CounterRow::l1_bytes}};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string kind_of(const CounterRow& row) {
  const std::string kind = row.text.substr(0, row.text.find(':'));
  if (kind == "conv") return row.direction == "backward" ? "conv, gradients" : "conv, forward";
  return kind == "gemm" ? "gemm" : "others";
}

// Median of the error, and of predicted over measured, in percent.
std::string error_cell(const std::vector<const JudgedOperator*>& rows, const Level& level) {
  std::vector<double> errors, ratios;
  for (const JudgedOperator* judged : rows) {
    const double measured = judged->row->*level.measured;
    if (measured <= 0) continue;
    ratios.push_back(judged->predicted.*level.predicted / measured);
    errors.push_back(std::abs(ratios.back() - 1) * 100);
  }
  return errors.empty() ? "-" : fmt::format("{:.0f} (× {:.2f})", median(errors), median(ratios));
}

std::string draw(const std::vector<JudgedOperator>& rows) {
  SvgChart chart("Bytes moved by an operator on an H200", {"measured, MB", 1, 100000}, {"predicted, MB", 1, 100000});
  chart.x_decades();
  chart.y_decades();
  chart.curve({{1, 1}, {100000, 100000}}, {.is_dashed = true});
  std::size_t series = 0;
  for (const Level& level : kLevels) {
    const std::string_view color = svg_color(series++);
    for (const JudgedOperator& judged : rows) {
      const auto mb = [](double bytes) { return std::clamp(bytes / 1048576.0, 1.0, 100000.0); };
      chart.dot(
          mb(judged.row->*level.measured), mb(judged.predicted.*level.predicted), 3.5, color, 0.6,
          fmt::format("{} {} {}: {}", judged.row->text, judged.row->precision, judged.row->direction, level.name));
    }
    chart.legend_dot(color, level.name);
  }
  return chart.svg();
}

}  // namespace

Result<ReportPage> counters_page(const Questions& questions, const fs::path& folder, const fs::path& image) {
  FORERUN_TRY(const std::vector<CounterRow> rows, read_counters(folder / "counters.csv"));
  FORERUN_TRY(const std::string findings, read_text_file((folder / "findings.md").string()));
  std::vector<JudgedOperator> judged;
  for (const CounterRow& row : rows) {
    FORERUN_TRY(JudgedOperator one, judge(questions, row));
    judged.push_back(one);
  }
  FORERUN_CHECK(write_text_file(image.string(), draw(judged)));
  ReportPage page{
      .title = "Counters",
      .introduction =
          "For people who read rooflines: how far the bytes that Forerun counts at L1, L2 and memory are from what "
          "the hardware counts. Nsight Compute on one H200, 2026-11-19, PyTorch 2.11, every kernel of an operator with "
          "caches flushed before it (`--cache-control all`) and clocks left alone (`--clock-control none`). Generated "
          "by `forerun-lab counters --write docs/accuracy/counters.md`; do not edit.\n"};
  ReportSection section{.id = "bytes", .heading = "Bytes"};
  std::map<std::string, std::vector<const JudgedOperator*>> kinds, large;
  std::vector<const JudgedOperator*> must_hold;
  for (const JudgedOperator& one : judged) {
    const std::string kind = kind_of(*one.row);
    kinds[kind].push_back(&one);
    if (one.row->memory_bytes < kLarge) continue;
    large[kind].push_back(&one);
    if (kind != "others") must_hold.push_back(&one);
  }
  section.text = fmt::format(
      "{} operators. Those that move over 64 MB, convolutions and GEMMs: memory bytes are {} % off at the median. "
      "Cells: median "
      "error in % (median of predicted ÷ measured).\n",
      judged.size(), error_cell(must_hold, kLevels[0]));
  ReportTable table{.columns = {"operators", "all", "memory", "L2", "L1", "over 64 MB", "memory", "L2", "L1"}};
  for (const auto& [kind, members] : kinds) {
    std::vector<std::string> cells = {kind, std::to_string(members.size())};
    for (const Level& level : kLevels) cells.push_back(error_cell(members, level));
    cells.push_back(std::to_string(large[kind].size()));
    for (const Level& level : kLevels) cells.push_back(error_cell(large[kind], level));
    table.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(table));
  section.images.push_back(image.filename().string());
  page.sections.push_back(std::move(section));
  ReportSection convolution{.id = "convolution", .heading = "The published convolution"};
  convolution.text =
      "32 images of 128 × 96 × 112, 56 filters of 3 × 3, stride 3, one size changed at a time. MB measured / "
      "predicted; GFLOP/s of the "
      "counted time with cold caches.\n";
  ReportTable points{.columns = {"operator", "precision", "direction", "kernels", "µs", "GFLOP/s", "predicted GFLOP/s",
                                 "memory, MB", "L2, MB", "L1, MB"}};
  for (const JudgedOperator& one : judged) {
    if (one.row->source != "published") continue;
    const auto pair = [&](const Level& level) {
      return fmt::format("{} / {}", number_cell(one.row->*level.measured / 1048576.0),
                         number_cell(one.predicted.*level.predicted / 1048576.0));
    };
    points.rows.push_back({one.row->text, one.row->precision, one.row->direction, std::to_string(one.row->kernels),
                           number_cell(one.row->us), number_cell(one.flops / one.row->us / 1e3),
                           number_cell(one.flops / one.predicted_us / 1e3), pair(kLevels[0]), pair(kLevels[1]),
                           pair(kLevels[2])});
  }
  convolution.tables.push_back(std::move(points));
  page.sections.push_back(std::move(convolution));
  page.sections.push_back({.id = "findings", .heading = "What they show", .text = findings});
  return page;
}

}  // namespace forerun
