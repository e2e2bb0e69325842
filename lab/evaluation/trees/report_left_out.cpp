// Whole networks on devices left out: the section of docs/accuracy/detail.md.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "evaluation/trees/left_out.hpp"
#include "evaluation/trees/tree_report.hpp"

namespace forerun {
namespace {

std::string cell(std::span<const Judged> rows) {
  return rows.empty() ? "–" : fmt::format("{:.1f}", measure_accuracy(rows).mape);
}

}  // namespace

Result<ReportSection> report_left_out(const TreeStudy& study, const ProgressLine& progress) {
  ReportSection section;
  section.id = "trees-left-out";
  section.heading = "Networks on a device never measured";
  section.text =
      "Each device is left out of training with all its networks and operators, and with boards of the same chip; its "
      "networks are then predicted. *learned* is the sum of kernels whose ratio to the roofline was learned from whole "
      "networks on the other devices. *kernel sum* is learned from operators alone. The log-linear fit and XGBoost on "
      "the value itself are trained on the same rows. HW-GPT-Bench (`hwgpt`) gives the sum of kernel times of GPTs "
      "under autocast. HELP (`help-…`) gives eager latencies of image networks in fp32, which are host-bound at small "
      "batches: the host speed is taken from the other devices of the same table, of the same generation where there "
      "are any. For HELP, *learned* is this host speed alone: kernels are left to the roofline, which was as close as "
      "learned kernels. timm's image networks (`timm`, fp16, the largest batches that fit, algorithms chosen by "
      "benchmark) are bound by the device: the kernel sum answers. Without such a table `forerun` answers for image "
      "networks by the kernel sum with our host's speed. Its intervals are those of graph replay where kernels take "
      "three times as long as our host, and those of eager passes elsewhere. They are a quarter wider than nine of ten "
      "rows need on every other device.";
  if (study.elsewhere.examples.empty()) {
    section.text += " The public tables are not here: nothing to judge.";
    return section;
  }
  FORERUN_TRY(const LeftOutAnswers answers, leave_devices_out(study, true, progress));
  const TreeRows& rows = study.elsewhere;
  using Rows = std::map<std::string, std::vector<Judged>>;  // by predictor
  std::map<std::pair<std::string, std::string>, Rows> by_device;
  std::map<std::string, std::map<std::string, double>> half;  // by metric and device: of what is learned
  std::map<std::string, std::array<double, 2>>
      kernel_half;  // by device: of the kernel sum, where kernels decide and where the host may
  const std::vector<std::pair<const char*, const std::vector<double>*>> predictors = {{"roofline", &answers.roofline},
                                                                                      {"kernels", &answers.kernel_sum},
                                                                                      {"fit", &answers.log_linear},
                                                                                      {"plain", &answers.plain},
                                                                                      {"learned", &answers.learned}};
  Rows all;
  for (std::size_t i = 0; i < rows.examples.size(); ++i) {
    const Example& e = rows.examples[i];
    const std::string metric(e.metrics.contains(kLatencyGraph) ? kLatencyGraph : kLatencyEager);
    const auto [width, is_new] = half[metric].try_emplace(e.device, 0);
    if (is_new) width->second = left_out_half_width(rows, answers, answers.learned, metric, e.device);
    const auto [kernels, first] = kernel_half.try_emplace(e.device);
    if (first)
      kernels->second = {left_out_half_width(rows, answers, answers.kernel_sum, kLatencyGraph, e.device),
                         left_out_half_width(rows, answers, answers.kernel_sum, kLatencyEager, e.device)};
    for (const auto& [name, values] : predictors) {
      const double p = (*values)[i];
      if (p <= 0) continue;
      const double h = values == &answers.kernel_sum ? kernels->second[std::size_t(answers.waits[i])] : width->second;
      const Judged judged{answers.measured[i], p, p * std::exp(-h), p * std::exp(h), e.family, e.device, e.network};
      by_device[{e.device, e.campaign}][name].push_back(judged);
      all[name].push_back(judged);
    }
  }
  ReportTable table{.caption = "Leave one device out (MAPE, %)",
                    .columns = {"device", "table", "rows", "roofline", "kernel sum", "log-linear", "plain XGBoost",
                                "learned", "median APE", "learned / roofline", "90 % interval covers %", "width %",
                                "kernel sum's covers %", "width %"},
                    .rows = {}};
  const auto add = [&](const std::string& device, const std::string& source, Rows& r) {
    const Accuracy learned = measure_accuracy(r["learned"]), roofline = measure_accuracy(r["roofline"]),
                   kernels = measure_accuracy(r["kernels"]);
    table.rows.push_back({device, source, std::to_string(learned.rows), cell(r["roofline"]), cell(r["kernels"]),
                          cell(r["fit"]), cell(r["plain"]), cell(r["learned"]),
                          fmt::format("{:.1f}", learned.median_ape),
                          fmt::format("{:.2f}", learned.mape / roofline.mape), fmt::format("{:.0f}", learned.coverage),
                          fmt::format("{:.0f}", learned.width), fmt::format("{:.0f}", kernels.coverage),
                          fmt::format("{:.0f}", kernels.width)});
  };
  for (auto& [key, r] : by_device) add(key.first, key.second, r);
  add("all", "", all);
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace forerun
