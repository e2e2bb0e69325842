// Operators and networks on a device that was left out of training.
#include <fmt/format.h>

#include <map>

#include "evaluation/trees/operator_errors.hpp"
#include "evaluation/trees/tree_report.hpp"

namespace forerun {
namespace {

constexpr double kAim = 12;                // MAPE of matrix products, %
constexpr std::size_t kFewestJudged = 20;  // rows that make a line of the table by class

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

// Latency of the networks measured on `device`, as a sum of kernels that nobody measured there.
Status judge_networks(const TreeRows& rows, const std::string& device, const TransferForest& transfer,
                      ReportTable& table) {
  std::map<std::pair<RunKind, RunMetric>, std::pair<std::vector<Judged>, std::vector<Judged>>> by_metric;
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    if (rows.examples[i].device != device) continue;
    TreeInput input = rows.inputs[i];
    sum_transferred(input, transfer);
    for (const RunMetric metric : {RunMetric::LatencyGraph, RunMetric::LatencyEager, RunMetric::Step}) {
      const auto measured = rows.examples[i].metrics.find(name_of(metric));
      if (measured == rows.examples[i].metrics.end()) continue;
      auto& [learned, roofline] = by_metric[{input.domain, metric}];
      learned.push_back({measured->second, tree_base(input, metric), 0, 0, "", "", ""});
      roofline.push_back({measured->second, roofline_answer(input, metric), 0, 0, "", "", ""});
    }
  }
  for (const auto& [key, judged] : by_metric) {
    table.rows.push_back({device, std::string(name_of(key.first)), std::string(name_of(key.second)),
                          std::to_string(judged.first.size()), mape_cell(judged.first), median_cell(judged.first),
                          mape_cell(judged.second)});
  }
  return ok();
}

// `transferred`: the networks of study.rows with facts that carry over, in the same order; may be empty.
ReportTable judge_sums(const TreeStudy& study, const TreeRows& transferred) {
  const TransferForest transfer{Forest(study.transfer), kinds_of(study.operators)};
  ReportTable sums{.caption = "Kernel sum of whole networks, operators of the device in training, no network (MAPE, %)",
                   .columns = {"kind of run", "metric", "rows", "kernel sum", "median APE",
                               "… by facts that carry over", "roofline"},
                   .rows = {}};
  for (const auto& [domain, metric] : learnable(study.rows)) {
    if (metric != RunMetric::LatencyGraph && metric != RunMetric::LatencyEager && metric != RunMetric::Step) continue;
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    std::vector<Judged> learned, carried, roofline;
    for (std::size_t i = 0; i < rows.measured.size(); ++i) {
      if (rows.example[i] < transferred.inputs.size()) {
        TreeInput input = transferred.inputs[rows.example[i]];
        sum_transferred(input, transfer);
        carried.push_back({rows.measured[i], tree_base(input, metric), 0, 0, "", "", ""});
      }
      learned.push_back({rows.measured[i], rows.base[i], 0, 0, "", "", ""});
      roofline.push_back({rows.measured[i], rows.roofline[i], 0, 0, "", "", ""});
    }
    sums.rows.push_back({std::string(name_of(domain)), std::string(name_of(metric)), std::to_string(learned.size()),
                         mape_cell(learned), median_cell(learned), mape_cell(carried), mape_cell(roofline)});
  }
  return sums;
}

}  // namespace

Result<ReportSection> report_operators(const TreeStudy& study, const TreeReportOptions& options,
                                       const ProgressLine& progress) {
  ReportSection section;
  section.id = "kernels-devices";
  section.heading = "Kernels: operators on a device never measured";
  std::map<std::string, bool> devices;  // has networks
  for (const OperatorRows& row : study.operators) devices[row.device];
  for (const Example& example : study.rows.examples) devices[example.device] = true;
  if (devices.size() < 2) {
    section.text = "Only one device was measured in these data: the table needs the public operator sweeps.";
    section.tables.push_back(judge_sums(study, {}));
    return section;
  }
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  FORERUN_TRY(const TreeRows networks,
              make_tree_rows(study.rows.examples, catalogue, options.threads, KernelBasis::Transfer));
  ReportTable by_source{.caption = "Leave one device out (MAPE, %)",
                        .columns = {"device", "source", "products", "MAPE", "median APE", "physics alone", "roofline",
                                    "others", "MAPE", "physics alone", "roofline"},
                        .rows = {}};
  ReportTable by_class{
      .caption = "Leave one device out, by class (MAPE, %)",
      .columns = {"device", "source", "class", "rows", "MAPE", "median APE", "physics alone", "roofline"},
      .rows = {}};
  ReportTable by_network{.caption = "Whole networks, neither they nor operators of the device in training (MAPE, %)",
                         .columns = {"device", "kind of run", "metric", "rows", "kernel sum", "median APE", "roofline"},
                         .rows = {}};
  OperatorErrors all;
  std::vector<Judged> all_matrix;
  std::vector<std::string> met, missed;
  for (const auto& [device, has_networks] : devices) {
    std::vector<OperatorRows> train;
    for (const OperatorRows& row : study.operators) {
      if (row.device != device) train.push_back(row);
    }
    FORERUN_TRY(const TreeNodes trees, train_kernels(train, transfer_training()));
    const TransferForest transfer{Forest(trees), kinds_of(train)};
    std::map<std::string, std::array<OperatorErrors, 2>> sources;  // products, others
    std::map<std::pair<std::string, KernelClass>, OperatorErrors> classes;
    std::vector<Judged> matrix;
    for (const OperatorRows& row : study.operators) {
      if (row.device != device) continue;
      const double learned = transferred_us(row, transfer);
      sources[row.source][row.is_product ? 0 : 1].add(row, learned);
      classes[{row.source, row.kernel_class}].add(row, learned);
      if (row.is_product) all.add(row, learned);
      if (is_matrix_product(row.kernel_class)) matrix.push_back(classes[{row.source, row.kernel_class}].learned.back());
    }
    for (const auto& [source, errors] : sources) {
      const auto& [products, others] = errors;
      by_source.rows.push_back({device, source, std::to_string(products.learned.size()), mape_cell(products.learned),
                                median_cell(products.learned), mape_cell(products.physics),
                                mape_cell(products.roofline), std::to_string(others.learned.size()),
                                mape_cell(others.learned), mape_cell(others.physics), mape_cell(others.roofline)});
      progress(fmt::format("left out {} ({}): products {} % (physics {}), others {} %", device, source,
                           mape_cell(products.learned), mape_cell(products.physics), mape_cell(others.learned)));
    }
    for (const auto& [key, errors] : classes) {
      if (errors.learned.size() < kFewestJudged) continue;
      by_class.rows.push_back({device, key.first, std::string(name_of(key.second)),
                               std::to_string(errors.learned.size()), mape_cell(errors.learned),
                               median_cell(errors.learned), mape_cell(errors.physics), mape_cell(errors.roofline)});
    }
    all_matrix.insert(all_matrix.end(), matrix.begin(), matrix.end());
    if (!matrix.empty())
      (measure_accuracy(matrix).mape <= kAim ? met : missed)
          .push_back(fmt::format("{} ({} %)", device, mape_cell(matrix)));
    if (has_networks) FORERUN_CHECK(judge_networks(networks, device, transfer, by_network));
  }
  by_source.rows.push_back({"all", "", std::to_string(all.learned.size()), mape_cell(all.learned),
                            median_cell(all.learned), mape_cell(all.physics), mape_cell(all.roofline), "", "", "", ""});
  section.text = fmt::format(
      "For a device without measurements, kernel times come from the data sheet (*physics*: tiles, waves, L2, "
      "launches; constants set by hand with all sweeps in view) and are corrected by trees on features that are "
      "comparable between devices. Here the trees are trained without the device and predict its operators. Kernel "
      "classes without rows on another device of the same maker keep the physical time. *roofline* has the shipped "
      "constants, whose fit includes the device's rows; the section on devices left out of the fit shows it without "
      "them. *Products* are GEMMs, convolutions and attention. The sources differ in timing: NeuSight from the host "
      "(fp32 without TF32), AIConfigurator inside a serving engine, ours in a CUDA graph. Timing overhead is modelled "
      "separately: the shortest NeuSight call of an operator on a machine is taken as its host time; rows below it are "
      "left out, and half of it (three quarters for GEMMs) counts as time before the launch. The aim is a MAPE of at "
      "most {:.0f} % for GEMMs; over all their rows it is {} %. Met: {}. Missed: {}. The last section shows how much "
      "the constants gained from these rows.",
      kAim, mape_cell(all_matrix), joined(met), joined(missed));
  section.tables = {std::move(by_source), std::move(by_class), std::move(by_network), judge_sums(study, networks)};
  return section;
}

}  // namespace forerun
