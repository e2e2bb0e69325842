// Ablation, and operators on a device left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/csv.hpp"
#include "features/kernel_facts.hpp"
#include "lab/trees/tree_report.hpp"

namespace forerun {
namespace {

bool is_hardware(const std::string& column) { return column.starts_with("device_") || column.starts_with("log_device_"); }
bool is_roofline(const std::string& column) {
  return column.find("kernel_sum") != std::string::npos || column.find("_time") != std::string::npos || column.find("roofline") != std::string::npos ||
         column.find("host_over") != std::string::npos || column.find("bound_share") != std::string::npos || column.find("eager_estimate") != std::string::npos;
}
bool is_setting(const std::string& column) {
  return column == "log_batch" || column == "log_sequence" || column == "precision" || column == "element_bytes" || column == "phase" ||
         column == "training" || column == "optimizer";
}

struct AblationRow {
  const char* name;
  bool (*keeps)(const std::string&);
};
constexpr AblationRow kAblation[] = {
    {"MACs alone", [](const std::string& c) { return c == "log_macs"; }},
    {"MACs, parameters, memory", [](const std::string& c) { return c == "log_macs" || c == "log_parameters" || c == "log_activation_peak"; }},
    {"all features of the network and its run", [](const std::string& c) { return !is_hardware(c) && !is_roofline(c); }},
    {"…, with run settings only", [](const std::string& c) { return c == "log_macs" || c == "log_parameters" || c == "log_activation_peak" || is_setting(c); }},
    {"everything (roofline and kernel sum on this hardware)", [](const std::string&) { return true; }},
};

// Columns that are not kept become one constant: trees cannot split on them.
MetricRows masked(const MetricRows& rows, bool (*keeps)(const std::string&)) {
  MetricRows out = rows;
  const auto& names = tree_column_names();
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (keeps(names[c])) continue;
    for (std::size_t r = 0; r < rows.measured.size(); ++r) out.features.values[r * rows.features.width + c] = 0;
  }
  return out;
}

// The target without any help of the hardware's figures: the plain logarithm.
MetricRows without_base(MetricRows rows) {
  for (std::size_t i = 0; i < rows.measured.size(); ++i) {
    rows.base[i] = 1;
    rows.log_ratio[i] = float(std::log(rows.measured[i]));
  }
  return rows;
}

double sum_us(const OperatorRows& rows, const Forest& forest) {
  std::vector<float> scores(rows.ideal_us.size(), 0);
  forest.predict(rows.facts, kernel_fact_count(), scores);
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) sum += rows.ideal_us[k] * std::exp(double(scores[k]));
  return sum;
}

}  // namespace

Result<ReportSection> report_ablation(const TreeStudy& study, const TreeReportOptions& options, const Progress& progress) {
  ReportSection section;
  section.id = "trees-ablation";
  section.heading = "Trees: which inputs matter";
  section.text =
      "By architecture, MAPE in percent, the same trees on fewer columns. *Without hardware* the target is the logarithm of the value itself; *with hardware* it is the "
      "log ratio to what the device's figures give (kernel sum, roofline), and the columns made with them are there.";
  ReportTable table{.caption = "", .columns = {"kind of run", "metric", "inputs", "without hardware", "with hardware"}, .rows = {}};
  const std::vector<std::pair<TreeDomain, TreeMetric>> pairs = {{TreeDomain::VisionInference, TreeMetric::LatencyGraph},
                                                                {TreeDomain::VisionInference, TreeMetric::Memory},
                                                                {TreeDomain::VisionInference, TreeMetric::Energy},
                                                                {TreeDomain::Language, TreeMetric::LatencyEager}};
  for (const auto& [domain, metric] : pairs) {
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    if (rows.measured.size() < kFewestRows) continue;
    MetricTraining training = shipped_training(domain, metric);
    training.parameters.colsample = 0.8;  // few columns: do not hide them
    for (const AblationRow& row : kAblation) {
      std::vector<std::string> cells = {std::string(name_of(domain)), std::string(name_of(metric)), row.name};
      for (const bool hardware : {false, true}) {
        const MetricRows used = masked(hardware ? rows : without_base(rows), row.keeps);
        FORERUN_TRY(const HeldOut held, cross_validate(study.rows, used, SplitKind::ByArchitecture, 1, training, options.threads));
        cells.push_back(fmt::format("{:.1f}", measure_accuracy(judge(study.rows, used, held, nullptr, nullptr)).mape));
      }
      progress(fmt::format("ablation {} {}: {} {} / {}", cells[0], cells[1], cells[2], cells[3], cells[4]));
      table.rows.push_back(std::move(cells));
    }
  }
  section.tables.push_back(std::move(table));
  return section;
}

Result<ReportSection> report_operators(const TreeStudy& study, const TreeReportOptions&, const Progress& progress) {
  ReportSection section;
  section.id = "kernels-devices";
  section.heading = "Kernels: operators on a device never measured";
  section.text =
      "The kernel forest is trained without the device and predicts its operators. *ideal* is the slower of arithmetic and memory at the data sheet's rates. "
      "Products are matrix products, convolutions and attention. Sources differ in how they timed: NeuSight from the host (true fp32), AIConfigurator inside a serving engine, ours in a CUDA graph.";
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> groups;  // device, source
  for (std::size_t i = 0; i < study.operators.size(); ++i) groups[{study.operators[i].device, study.operators[i].source}].push_back(i);
  std::map<std::string, std::vector<std::size_t>> by_device;
  for (std::size_t i = 0; i < study.operators.size(); ++i) by_device[study.operators[i].device].push_back(i);
  ReportTable table{.caption = "Leave one device out (MAPE, %)", .columns = {"device", "source", "products", "MAPE", "median APE", "ideal", "others", "MAPE"}, .rows = {}};
  if (by_device.size() < 2) {
    section.text += " Only one device was measured in these data: the table needs the public operator sweeps.";
    return section;
  }
  std::vector<Judged> all_products;
  for (const auto& [device, held] : by_device) {
    std::vector<OperatorRows> train;
    for (const OperatorRows& row : study.operators) {
      if (row.device != device) train.push_back(row);
    }
    KernelTraining training;
    training.parameters.rounds = 200;
    training.parameters.eta = 0.15;
    FORERUN_TRY(const TreeNodes trees, train_kernels(train, training));
    const Forest forest(trees);
    for (const auto& [key, rows] : groups) {
      if (key.first != device) continue;
      std::vector<Judged> products, ideal, others;
      for (const std::size_t i : rows) {
        const OperatorRows& row = study.operators[i];
        const Judged judged{row.measured_us, sum_us(row, forest), 0, 0, row.op, device, ""};
        (row.is_product ? products : others).push_back(judged);
        double bare = 0;
        for (const double us : row.ideal_us) bare += us;
        if (row.is_product) ideal.push_back({row.measured_us, bare, 0, 0, row.op, device, ""});
      }
      all_products.insert(all_products.end(), products.begin(), products.end());
      const Accuracy p = measure_accuracy(products), b = measure_accuracy(ideal), o = measure_accuracy(others);
      const auto cell = [](const Accuracy& a, double value) { return a.rows == 0 ? std::string("–") : fmt::format("{:.1f}", value); };
      table.rows.push_back({device, key.second, std::to_string(p.rows), cell(p, p.mape), cell(p, p.median_ape), cell(b, b.mape), std::to_string(o.rows), cell(o, o.mape)});
      progress(fmt::format("left out {} ({}): products {:.1f} %, others {:.1f} %", device, key.second, p.mape, o.mape));
    }
  }
  const Accuracy p = measure_accuracy(all_products);
  table.rows.push_back({"all", "", std::to_string(p.rows), fmt::format("{:.1f}", p.mape), fmt::format("{:.1f}", p.median_ape), "", "", ""});
  section.tables.push_back(std::move(table));
  // The bare kernel sum on networks: it has seen operators, never a network.
  ReportTable sums{.caption = "Kernel sum of whole networks, no network in training (MAPE, %)", .columns = {"kind of run", "metric", "rows", "kernel sum", "median APE", "roofline"}, .rows = {}};
  for (const auto& [domain, metric] : learnable(study.rows)) {
    if (metric != TreeMetric::LatencyGraph && metric != TreeMetric::LatencyEager && metric != TreeMetric::Step) continue;
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    std::vector<Judged> learned, roofline;
    for (std::size_t i = 0; i < rows.measured.size(); ++i) {
      learned.push_back({rows.measured[i], rows.base[i], 0, 0, "", "", ""});
      roofline.push_back({rows.measured[i], rows.roofline[i], 0, 0, "", "", ""});
    }
    const Accuracy a = measure_accuracy(learned);
    sums.rows.push_back({std::string(name_of(domain)), std::string(name_of(metric)), std::to_string(a.rows), fmt::format("{:.1f}", a.mape),
                         fmt::format("{:.1f}", a.median_ape), fmt::format("{:.1f}", measure_accuracy(roofline).mape)});
  }
  section.tables.push_back(std::move(sums));
  return section;
}

}  // namespace forerun
