// Ablation: which inputs matter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluation/trees/tree_report.hpp"

namespace forerun {
namespace {

bool is_hardware(const std::string& column) {
  return column.starts_with("device_") || column.starts_with("log_device_");
}
bool is_roofline(const std::string& column) {
  return column.find("kernel_sum") != std::string::npos || column.find("_time") != std::string::npos ||
         column.find("roofline") != std::string::npos || column.find("host_over") != std::string::npos ||
         column.find("bound_share") != std::string::npos || column.find("eager_estimate") != std::string::npos;
}
bool is_setting(const std::string& column) {
  return column == "log_batch" || column == "log_sequence" || column == "precision" || column == "element_bytes" ||
         column == "phase" || column == "training" || column == "optimizer";
}

struct AblationRow {
  const char* name;
  bool (*keeps)(const std::string&);
};
constexpr AblationRow kAblation[] = {
    {"MACs alone", [](const std::string& c) { return c == "log_macs"; }},
    {"MACs, parameters, memory",
     [](const std::string& c) { return c == "log_macs" || c == "log_parameters" || c == "log_activation_peak"; }},
    {"all features of the network and its run",
     [](const std::string& c) { return !is_hardware(c) && !is_roofline(c); }},
    {"…, with run settings only",
     [](const std::string& c) {
       return c == "log_macs" || c == "log_parameters" || c == "log_activation_peak" || is_setting(c);
     }},
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

}  // namespace

Result<ReportSection> report_ablation(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress) {
  ReportSection section;
  section.id = "trees-ablation";
  section.heading = "Trees: which inputs matter";
  section.text =
      "By architecture, MAPE in percent: the same trees with fewer input columns (for energy: trees on whole passes, "
      "not the power per kernel that ships). *Without hardware*: the target is the logarithm of the value. *With "
      "hardware*: the target is the log ratio to the analytic estimate (kernel sum, roofline), and the columns "
      "computed from it are included.";
  ReportTable table{
      .caption = "", .columns = {"kind of run", "metric", "inputs", "without hardware", "with hardware"}, .rows = {}};
  const std::vector<std::pair<RunKind, RunMetric>> pairs = {{RunKind::VisionInference, RunMetric::LatencyGraph},
                                                            {RunKind::VisionInference, RunMetric::Memory},
                                                            {RunKind::VisionInference, RunMetric::Energy},
                                                            {RunKind::LanguageInference, RunMetric::LatencyEager}};
  for (const auto& [domain, metric] : pairs) {
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    if (rows.measured.size() < kFewestRows) continue;
    MetricTraining training = shipped_training(domain, metric);
    training.parameters.colsample = 0.8;  // few columns: do not hide them
    for (const AblationRow& row : kAblation) {
      std::vector<std::string> cells = {std::string(name_of(domain)), std::string(name_of(metric)), row.name};
      for (const bool hardware : {false, true}) {
        const MetricRows used = masked(hardware ? rows : without_base(rows), row.keeps);
        FORERUN_TRY(const HeldOut held,
                    cross_validate(study.rows, used, SplitKind::ByArchitecture, 1, training, options.threads));
        cells.push_back(fmt::format("{:.1f}", measure_accuracy(judge(study.rows, used, held, nullptr, nullptr)).mape));
      }
      progress(fmt::format("ablation {} {}: {} {} / {}", cells[0], cells[1], cells[2], cells[3], cells[4]));
      table.rows.push_back(std::move(cells));
    }
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace forerun
