// The roofline's tables of whole networks and of operators timed alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "evaluation/roofline/error_table.hpp"
#include "evaluation/roofline/roofline_report.hpp"
#include "training/roofline/fit.hpp"

namespace forerun {
namespace {

struct Judgement {
  std::string metric;
  double estimated, measured;
};

std::vector<Judgement> judge(const NetworkRow& row, const RooflineEstimate& e) {
  const double eager_ms = e.latency_eager_ms;
  return {{"graph latency", e.latency_graph_ms, row.graph_ms},
          {"eager latency", eager_ms, row.eager_ms},
          {"step", eager_ms, row.step_ms},
          {"memory", e.memory.total_mb, row.memory_mb},
          {"device memory", e.memory.device_total_mb, row.device_memory_mb},
          {"energy", eager_ms / 1e3 * e.power_eager_w, row.energy_j},
          {"power", e.power_eager_w, row.power_w}};
}

const char* holds(bool yes) { return yes ? "holds" : "missed"; }

std::string run_of(const NetworkRow& row) {
  if (row.domain != RunKind::LanguageInference) return std::string(name_of(row.domain));
  return "llm " + std::string(name_of(row.workload.binding.phase.value_or(Phase::Forward)));
}

// Every sixteenth network row and every eighth operator of our own (the H200 has ten times the rows of any other
// device).
MeasuredRows thinned(const MeasuredRows& rows) {
  MeasuredRows few;
  for (std::size_t i = 0; i < rows.networks.size(); i += 16) few.networks.push_back(rows.networks[i]);
  std::size_t ours = 0;
  for (const OperatorRow& row : rows.operators) {
    const bool is_public = row.source.starts_with("neusight") || row.source.starts_with("aic");
    if (is_public || ours++ % 8 == 0) few.operators.push_back(row);
  }
  return few;
}

}  // namespace

Result<RooflineStudy> open_roofline_study(const MeasuredOptions& options) {
  RooflineStudy study{.options = options, .catalogue = {}, .rows = {}};
  FORERUN_TRY(study.catalogue, Catalogue::load());
  FORERUN_TRY(study.rows, load_measured_rows(options, study.catalogue));
  return study;
}

ReportSection report_roofline_networks(const std::vector<NetworkRow>& rows, const RooflineConstants& constants) {
  ReportSection section;
  section.id = "roofline-networks";
  section.heading = "Roofline: whole networks on the H200";
  section.text =
      "Estimates of the predictor `roofline` with the shipped constants, against the campaigns in `data/measurements`. "
      "These networks were part of the fit of its constants. *Graph latency*: replayed as one CUDA graph; *eager "
      "latency*: as PyTorch launches it; *step*: a training step; *memory*: peak of PyTorch's allocator; *device "
      "memory*: the whole process; *energy* and *power*: of the board in eager runs. *p90*: nine rows of ten have a "
      "smaller error.";
  ErrorTable by_run({"kind of run", "metric"}), by_precision({"kind of run", "precision", "metric"}),
      language_memory({"what"});
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<double>>> families;
  for (const NetworkRow& row : rows) {
    const RooflineEstimate e = estimate_roofline(*row.graph, row.kernels, row.workload, *row.device, constants);
    const std::string run = run_of(row);
    if (row.domain == RunKind::LanguageInference && row.memory_mb > 0 && row.id.find("-first/") != std::string::npos)
      language_memory.add({"memory"}, e.memory.total_mb, row.memory_mb);
    for (const Judgement& j : judge(row, e)) {
      if (j.measured <= 0) continue;
      by_run.add({run, j.metric}, j.estimated, j.measured);
      by_precision.add({run, std::string(name_of(row.workload.precision)), j.metric}, j.estimated, j.measured);
      families[{std::string(name_of(row.domain)), row.family}][j.metric].push_back(
          100 * std::abs(j.estimated / j.measured - 1));
    }
  }
  const auto runs = by_run.errors();
  if (const auto latency = runs.find({"vision_inference", "graph latency"}),
      memory = runs.find({"vision_inference", "memory"});
      latency != runs.end() && memory != runs.end()) {
    section.text += fmt::format(
        " Aims for vision networks: graph latency below 25 % ({}: {:.1f} %), memory below 10 % ({}: {:.1f} %).",
        holds(latency->second.mape < 25), latency->second.mape, holds(memory->second.mape < 10), memory->second.mape);
  }
  if (const auto first = language_memory.errors(); !first.empty()) {
    const ErrorTable::Errors& e = first.begin()->second;
    section.text += fmt::format(
        " Aim for the memory of language models on the first campaign's {} rows, T5's untied copies included: 5 % in "
        "the median and 10 % for nine of ten rows ({}: {:.1f} %, {:.1f} %).",
        e.rows, holds(e.median < 5 && e.p90 < 10), e.median, e.p90);
  }
  section.text +=
      "\n\nKnown causes of error. Eager latency of small networks is host time, which differs by 10 % and more between "
      "two measurements of the same row. Grouped convolutions in TF32: cuDNN runs some of them group by group, by "
      "rules that are not modelled. Energy of the earlier campaigns includes the reading of the counter "
      "([measurements](../method/measurements.md)). Memory of networks with many parallel branches: the file does not "
      "say in which order Python releases tensors.";
  section.tables.push_back(by_run.table("By kind of run"));
  section.tables.push_back(by_precision.table("By precision"));
  const std::vector<std::string> metrics = {"graph latency", "eager latency", "step", "memory", "energy", "power"};
  ReportTable table{
      .caption = "By family: MAPE % (median %)", .columns = {"kind of run", "family", "rows"}, .rows = {}};
  table.columns.insert(table.columns.end(), metrics.begin(), metrics.end());
  for (const auto& [key, errors] : families) {
    std::size_t most = 0;
    for (const auto& [metric, list] : errors) most = std::max(most, list.size());
    std::vector<std::string> cells = {key.first, key.second, std::to_string(most)};
    for (const std::string& metric : metrics) {
      const auto found = errors.find(metric);
      cells.push_back(found == errors.end()
                          ? "–"
                          : fmt::format("{:.1f} ({:.1f})", repeated(found->second).mean, quantile(found->second, 0.5)));
    }
    table.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(table));
  return section;
}

ReportSection report_roofline_operators(const std::vector<OperatorRow>& rows, const RooflineConstants& constants) {
  ReportSection section;
  section.id = "roofline-operators";
  section.heading = "Roofline: operators timed alone";
  section.text =
      "By device and class, with the shipped constants; these rows were part of the fit. NeuSight (MIT) timed "
      "PyTorch's fp32 operators from the host: the part of the call before the launch is added to the estimate, and "
      "rows shorter than two empty calls are left out. AIConfigurator (Apache-2.0) timed kernels inside vLLM: 4.7 µs "
      "are added to attention, which there also writes the KV cache. Our rows were timed inside a CUDA graph.";
  ErrorTable by_device({"device", "source"}), by_class({"device", "source", "class", "precision"});
  for (const OperatorRow& row : rows) {
    const double estimate = time_of(row, constants);
    by_device.add({row.device->id, row.source.substr(0, row.source.find('_'))}, estimate, row.latency_us);
    by_class.add({row.device->id, row.source.substr(0, row.source.find('_')),
                  std::string(name_of(row.kernels.front().kernel_class)), std::string(name_of(row.precision))},
                 estimate, row.latency_us);
  }
  section.tables.push_back(by_device.table("By device"));
  section.tables.push_back(by_class.table("By device, class and precision"));
  return section;
}

ReportSection report_left_out(const MeasuredRows& rows, int rounds, const RooflineProgress& progress) {
  ReportSection section;
  section.id = "roofline-left-out";
  section.heading = "Roofline: devices left out of the fit";
  const MeasuredRows few = thinned(rows);
  section.text =
      "All constants are fitted again without one device's operators (for the H200 also without its networks, and with "
      "data-sheet ceilings in place of measured ones), then judged on all rows of that device. These fits read every "
      "sixteenth network, every eighth operator of our sweeps, and all public rows. The aim is a MAPE below 20 %.";
  ErrorTable by_device({"left out", "what"}), by_class({"left out", "class"});
  for (const auto& [id, device] : rows.devices) {
    Device sheet = device;  // as if nobody had measured it
    sheet.measured.reset();
    const bool any = std::any_of(rows.operators.begin(), rows.operators.end(),
                                 [&](const OperatorRow& r) { return r.device->id == device.id; });
    if (!any) continue;
    const RooflineConstants constants = RooflineFit(few, device.id).run(rounds, [](const std::string&) {});
    for (const OperatorRow& row : rows.operators) {
      if (row.device->id != device.id) continue;
      OperatorRow on_sheet = row;
      on_sheet.device = &sheet;
      const double estimate = time_of(on_sheet, constants);
      by_device.add({device.id, "operators"}, estimate, row.latency_us);
      by_class.add({device.id, std::string(name_of(row.kernels.front().kernel_class))}, estimate, row.latency_us);
    }
    for (const NetworkRow& row : rows.networks) {
      if (row.device->id != device.id || row.graph_ms <= 0) continue;
      const RooflineEstimate e = estimate_roofline(*row.graph, row.kernels, row.workload, sheet, constants);
      by_device.add({device.id, "networks, " + run_of(row) + ", graph latency"}, e.latency_graph_ms, row.graph_ms);
    }
    progress("left out " + device.id);
  }
  std::string met, missed;
  const auto classes = by_class.errors();
  for (const auto& [group, e] : by_device.errors()) {
    if (group[1] != "operators") continue;
    if (e.mape < 20) {
      met += fmt::format(" {} ({:.1f} %),", group[0], e.mape);
      continue;
    }
    std::string worst;
    double most = 0;
    for (const auto& [by, c] : classes) {
      if (by[0] == group[0] && c.mape * double(c.rows) > most) {
        most = c.mape * double(c.rows);
        worst = by[1];
      }
    }
    missed += fmt::format(" {} ({:.1f} %, most of it {}),", group[0], e.mape, worst);
  }
  if (!met.empty()) met.back() = '.';
  if (!missed.empty()) missed.back() = '.';
  section.text +=
      "\n\nMet:" + (met.empty() ? " none." : met) + "\n\nMissed:" + (missed.empty() ? " none." : missed) +
      " Causes: cuBLAS keeps one or two tile shapes for batched fp32 GEMMs of odd sizes, while the estimate takes the "
      "best of many; on Pascal, deep fp32 GEMMs read their operands again through a small L2; cuDNN chooses among "
      "implicit GEMM, Winograd and FFT by rules that are not modelled; attention and expert kernels of a few "
      "microseconds are dominated by the engine's overhead; experts are measured with skewed loads and estimated with "
      "even ones; only the H200 has rows of copies, norms and pooling in all shapes and three precisions, so without "
      "it their constants stay at the start values.";
  section.tables.push_back(by_device.table("By device"));
  section.tables.push_back(by_class.table("By device and class"));
  return section;
}

}  // namespace forerun
