// Compiled runs: the section of docs/accuracy/detail.md.
#include <fmt/format.h>

#include <cmath>

#include "base/conformal.hpp"
#include "dataset/public_networks.hpp"
#include "evaluation/trees/compiled_study.hpp"

namespace forerun {
namespace {

constexpr std::size_t kLatency = 0, kAllocated = 1, kWatts = 2;  // of kCompiledMetrics
constexpr std::uint64_t kSeed = 29;

using Chosen = bool (*)(const CompiledPoint& point);
bool is_image(const CompiledPoint& p) { return !is_language(p.kind) && p.row.run.campaign != "timm"; }
bool is_encoder(const CompiledPoint& p) { return is_language(p.kind); }
bool is_timm(const CompiledPoint& p) { return p.row.run.campaign == "timm"; }
bool is_any(const CompiledPoint&) { return true; }

Judged judged_of(const CompiledPoint& p, double measured, double predicted, double half) {
  return {measured,         predicted,        predicted * std::exp(-half), predicted * std::exp(half), p.row.run.family,
          p.row.run.device, p.row.run.network};
}

std::string cell(const std::vector<Judged>& rows) {
  return rows.empty() ? "–" : fmt::format("{:.1f}", measure_accuracy(rows).mape);
}

// Answers of one kind of networks: as replayed, by the ratio of kernel times, learned under both splits.
Status add_rows(std::span<const CompiledPoint> points, const char* name, Chosen chosen, std::size_t metric,
                ReportTable& table) {
  FORERUN_TRY(const std::vector<double> by_network,
              hold_out_compiled(points, metric, SplitKind::ByArchitecture, kSeed));
  FORERUN_TRY(const std::vector<double> by_family,
              hold_out_compiled(points, metric, SplitKind::LeaveOneFamilyOut, kSeed));
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (by_family[i] > 0) errors.push_back(std::abs(std::log(by_family[i] / points[i].measured[metric])));
  }
  if (errors.empty()) return ok();
  const double half = conformal_half_width(errors);
  std::vector<Judged> replayed, analytic, networks, families;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CompiledPoint& p = points[i];
    if (!chosen(p) || by_network[i] <= 0) continue;
    const double measured = p.measured[metric];
    if (metric == kLatency) replayed.push_back(judged_of(p, measured, p.replay_ms, 0));
    analytic.push_back(judged_of(p, measured, p.base[metric], p.far_width[metric]));
    networks.push_back(judged_of(p, measured, by_network[i], half));
    families.push_back(judged_of(p, measured, by_family[i], half));
  }
  if (networks.empty()) return ok();
  const Accuracy a = measure_accuracy(networks), f = measure_accuracy(families);
  table.rows.push_back({name, std::string(name_of(kCompiledMetrics[metric])), std::to_string(networks.size()),
                        cell(replayed), cell(analytic), cell(networks), cell(families),
                        fmt::format("{:.1f}", a.median_ape), fmt::format("{:.0f}", a.coverage),
                        fmt::format("{:.0f}", f.coverage), fmt::format("{:.0f}", f.width)});
  return ok();
}

// The shipped predictors on the replays measured beside the compiled runs, of networks that they did not learn from.
void add_replays(std::span<const CompiledPoint> points, ReportTable& table) {
  std::map<std::string, std::pair<std::vector<Judged>, std::vector<Judged>>> by_family;
  for (const CompiledPoint& p : points) {
    if (!is_timm(p)) continue;
    for (const std::string& name : {p.row.run.family, std::string("all")}) {
      auto& [latency, memory] = by_family[name];
      if (p.row.replay_ms > 0) latency.push_back(judged_of(p, p.row.replay_ms, p.replay_ms, 0));
      if (p.row.replay_memory_mb > 0) memory.push_back(judged_of(p, p.row.replay_memory_mb, p.replay_memory_mb, 0));
    }
  }
  for (const auto& [family, rows] : by_family)
    table.rows.push_back({family, std::to_string(rows.first.size()), cell(rows.first), cell(rows.second)});
}

Status add_other_devices(const StudyOptions& options, ReportTable& table, const ProgressLine& progress) {
  std::vector<Example> examples;
  FORERUN_CHECK(load_timm_networks(options.public_data, {0, options.timm_graphs, true}, examples));
  std::vector<CompiledRow> rows;
  for (Example& e : examples) {
    CompiledRow row;
    row.latency_ms = e.metrics.at(std::string(kLatencyCompiled));
    row.run = std::move(e);
    rows.push_back(std::move(row));
  }
  FORERUN_TRY(const std::vector<CompiledPoint> points, compiled_points(std::move(rows), progress));
  std::map<std::string, std::array<std::vector<Judged>, 2>> by_device;
  for (const CompiledPoint& p : points) {
    auto& [replayed, analytic] = by_device[p.row.run.device];
    replayed.push_back(judged_of(p, p.row.latency_ms, p.replay_ms, 0));
    analytic.push_back(judged_of(p, p.row.latency_ms, p.base[kLatency], p.far_width[kLatency]));
  }
  for (const auto& [device, judged] : by_device) {
    const Accuracy a = measure_accuracy(judged[1]);
    table.rows.push_back({device, std::to_string(a.rows), cell(judged[0]), cell(judged[1]),
                          fmt::format("{:.1f}", a.median_ape), fmt::format("{:.2f}", a.kendall_tau),
                          fmt::format("{:.0f}", a.coverage), fmt::format("{:.0f}", a.width)});
  }
  return ok();
}

}  // namespace

Result<ReportSection> report_compiled(const StudyOptions& options, const ProgressLine& progress) {
  ReportSection section;
  section.id = "compiled";
  section.heading = "Compiled networks";
  section.text =
      "Runs measured as torch.compile makes them (Inductor, default mode), replayed as one CUDA graph, on the H200. "
      "*As replayed* is the answer for PyTorch's own kernels, as if compiling changed nothing; *ratio of kernel times* "
      "is that answer times the ratio of both kernel lists, on other devices by the analytic model; *learned* has the "
      "learned factor on it, under both splits, which saw nothing of the networks judged. The replay's answer is the "
      "shipped predictors', which learned from the replays of most of the campaigns' networks and from none of timm's. "
      "Intervals are those of families left out.";
  FORERUN_TRY(std::vector<CompiledRow> rows, load_compiled_rows(options.data, options.timm_graphs));
  if (rows.empty()) {
    section.text += " None was measured here.";
    return section;
  }
  FORERUN_TRY(const std::vector<CompiledPoint> points, compiled_points(std::move(rows), progress));
  ReportTable table{
      .caption = "Compiled runs on the H200 (MAPE, %)",
      .columns = {"networks", "metric", "rows", "as replayed", "ratio of kernel times", "learned, by architecture",
                  "learned, family left out", "median APE", "covers %", "family left out covers %", "width %"},
      .rows = {}};
  for (const auto& [name, chosen] : {std::pair<const char*, Chosen>{"images", is_image},
                                     {"encoders", is_encoder},
                                     {"timm", is_timm},
                                     {"all", is_any}}) {
    for (const std::size_t metric : {kLatency, kAllocated, kWatts})
      FORERUN_CHECK(add_rows(points, name, chosen, metric, table));
  }
  section.tables.push_back(std::move(table));
  ReportTable replays{
      .caption = "CUDA graph replay of timm's networks, by the bundles that learned from none (MAPE, %)",
      .columns = {"family", "rows", "latency", "allocator memory"},
      .rows = {}};
  add_replays(points, replays);
  if (!replays.rows.empty()) section.tables.push_back(std::move(replays));
  ReportTable others{.caption = "Compiled runs of timm's networks on devices where none was measured (MAPE, %)",
                     .columns = {"device", "rows", "as replayed", "ratio of kernel times", "median APE",
                                 "Kendall's tau", "covers %", "width %"},
                     .rows = {}};
  FORERUN_CHECK(add_other_devices(options, others, progress));
  if (!others.rows.empty()) section.tables.push_back(std::move(others));
  return section;
}

}  // namespace forerun
