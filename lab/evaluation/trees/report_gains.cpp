// What a change is worth, predicted against measured: pairs of runs of one network that differ by one setting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "evaluation/trees/tree_report.hpp"

namespace forerun {
namespace {

struct Latency {
  double measured = 0, predicted = 0;  // predicted by trees that saw no row of the network
};
using Latencies = std::map<std::size_t, Latency>;  // by example

Result<Latencies> hold_out_latencies(const TreeStudy& study, RunKind kind, RunMetric metric, unsigned threads) {
  Latencies latencies;
  const MetricRows rows = metric_rows(study.rows, kind, metric);
  if (rows.measured.size() < kFewestRows) return latencies;
  FORERUN_TRY(const HeldOut held, hold_out(study, kind, metric, SplitKind::ByArchitecture, 1, threads));
  for (std::size_t i = 0; i < rows.measured.size(); ++i) {
    if (held.fold[i] >= 0) latencies[rows.example[i]] = {rows.measured[i], held.predicted[i]};
  }
  return latencies;
}

// A run before a change and after it, as time for each sample.
struct Pair {
  Latency before, after;
  [[nodiscard]] double measured() const { return std::log(before.measured / after.measured); }
  [[nodiscard]] double predicted() const { return std::log(before.predicted / after.predicted); }
};
using Pairs = std::map<std::string, std::vector<Pair>>;  // by change

// Everything of a run but its batch and precision.
std::string network_key(const Example& e) {
  const Binding& b = e.workload.binding;
  std::string key = fmt::format("{}|{}|{}|{}|{}", e.network, b.seq.value_or(0), int(b.phase.value_or(Phase::Forward)),
                                int(b.last_logits_only), int(e.workload.optimizer));
  for (const auto& [name, size] : b.dims) key += fmt::format("|{}={}", name, size);
  return key;
}

double samples_of(const Example& e) { return double(std::max<std::int64_t>(1, e.workload.binding.batch.value_or(1))); }

Latency per_sample(const Latency& latency, double samples) {
  return {latency.measured / samples, latency.predicted / samples};
}

void add_pairs(const TreeStudy& study, const Latencies& latencies, const std::string& runtime, Pairs& pairs) {
  std::map<std::string, std::vector<std::size_t>> by_network;
  for (const auto& [example, latency] : latencies)
    by_network[network_key(study.rows.examples[example])].push_back(example);
  for (const auto& [key, examples] : by_network) {
    for (const std::size_t a : examples) {
      for (const std::size_t b : examples) {
        const Example &before = study.rows.examples[a], &after = study.rows.examples[b];
        const double batch = samples_of(before), larger = samples_of(after);
        const Pair pair{per_sample(latencies.at(a), batch), per_sample(latencies.at(b), larger)};
        if (before.workload.precision == after.workload.precision && larger > batch && larger <= 16 * batch)
          pairs[fmt::format("larger batch, {}", runtime)].push_back(pair);
        const bool is_narrower =
            before.workload.precision == Precision::Fp32 &&
            (after.workload.precision == Precision::Fp16 || after.workload.precision == Precision::Bf16 ||
             after.workload.precision == Precision::AmpBf16);
        if (is_narrower && batch == larger)
          pairs[fmt::format("fp32 to {}, {}", name_of(after.workload.precision), runtime)].push_back(pair);
      }
    }
  }
}

double points(double log_gain) { return 100 * (1 - std::exp(-log_gain)); }

std::vector<std::string> cells_of(const std::string& change, const std::vector<Pair>& pairs) {
  constexpr double kClear = 0.03;  // a measured gain or loss of at least 3 %
  std::vector<double> off, measured;
  double clear = 0, right = 0, both = 0, before = 0, after = 0;
  for (const Pair& pair : pairs) {
    off.push_back(std::abs(points(pair.measured()) - points(pair.predicted())));
    measured.push_back(points(pair.measured()));
    if (std::abs(pair.measured()) >= kClear) {
      clear += 1;
      right += (pair.measured() > 0) == (pair.predicted() > 0) ? 1 : 0;
    }
    const double x = std::log(pair.before.predicted / pair.before.measured);
    const double y = std::log(pair.after.predicted / pair.after.measured);
    both += x * y;
    before += x * x;
    after += y * y;
  }
  const double correlation = before > 0 && after > 0 ? both / std::sqrt(before * after) : 0;
  return {change,
          std::to_string(pairs.size()),
          fmt::format("{:.0f}", quantile(measured, 0.5)),
          clear > 0 ? fmt::format("{:.1f}", 100 * right / clear) : "-",
          fmt::format("{:.1f}", quantile(off, 0.5)),
          fmt::format("{:.1f}", quantile(off, 0.9)),
          fmt::format("{:.2f}", correlation)};
}

}  // namespace

Result<ReportSection> report_gains(const TreeStudy& study, const TreeReportOptions& options,
                                   const ProgressLine& progress) {
  ReportSection section;
  section.id = "gains";
  section.heading = "What a change is worth";
  section.text =
      "Pairs of measured runs of one network on the H200 that differ by one setting, against the gain that "
      "`forerun advise` would name: time saved for each sample, in percent of the time before. Predictions are by "
      "trees "
      "that saw no row of the network. *Sign right* is the share of pairs with a measured gain or loss of at least 3 % "
      "whose predicted sign agrees. *Off* is the distance of both gains in points. *Correlation* is that of the "
      "prediction's log errors before and after the change: the closer to 1, the more they cancel in a gain.";
  ReportTable table{.caption = "",
                    .columns = {"kind of run", "change", "pairs", "median gain %", "sign right %", "median off",
                                "90 % off by less than", "correlation"},
                    .rows = {}};
  for (const RunKind kind : {RunKind::VisionInference, RunKind::VisionTraining, RunKind::LanguageInference}) {
    Pairs pairs;
    FORERUN_TRY(const Latencies eager,
                hold_out_latencies(study, kind, is_training(kind) ? RunMetric::Step : RunMetric::LatencyEager,
                                   options.threads));
    Latencies replayed;
    if (!is_training(kind)) {
      FORERUN_TRY(replayed, hold_out_latencies(study, kind, RunMetric::LatencyGraph, options.threads));
    }
    add_pairs(study, eager, is_training(kind) ? "training step" : "eager", pairs);
    add_pairs(study, replayed, "CUDA graph", pairs);
    for (const auto& [example, latency] : eager) {
      if (const auto found = replayed.find(example); found != replayed.end())
        pairs["eager to CUDA graph"].push_back({latency, found->second});
    }
    for (const auto& [change, list] : pairs) {
      constexpr std::size_t kFewestPairs = 20;
      if (list.size() < kFewestPairs) continue;
      std::vector<std::string> row = {std::string(name_of(kind))};
      for (std::string& cell : cells_of(change, list)) row.push_back(std::move(cell));
      std::string line;
      for (const std::string& cell : row) line += cell + "  ";
      progress(line);
      table.rows.push_back(std::move(row));
    }
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace forerun
