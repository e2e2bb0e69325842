#include "evaluation/trees/compiled_study.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "analysis/analyze.hpp"
#include "analysis/compiled_kernels.hpp"
#include "base/conformal.hpp"
#include "base/on_cores.hpp"
#include "devices/catalogue.hpp"
#include "predictors/predictor_set.hpp"
#include "predictors/roofline/roofline.hpp"
#include "training/trees/booster.hpp"

namespace forerun {
namespace {

constexpr std::size_t kFewestPoints = 40;
constexpr std::uint64_t kSeed = 29;

// An answer of the shipped predictors for a replay, and the same for the compiled kernels.
Result<CompiledPoint> point_of(CompiledRow row, const PredictorSet& predictors, const Device& device) {
  CompiledPoint point;
  Workload workload = row.run.workload;
  workload.runtime = Runtime::Graph;
  FORERUN_TRY(const Graph graph, analyze(*row.run.net, workload.binding));
  const Totals totals = sum_totals(graph);
  const std::vector<Kernel> eager = list_kernels(graph, workload), own = compiled_kernels(graph, eager);
  const MemoryFacts memory = count_memory(graph, eager, workload);
  const RooflineEstimate eager_roofline = estimate_roofline(eager, memory, workload, device);
  std::vector<std::uint32_t> group_of;
  const std::vector<KernelGroup> groups = group_kernels(eager, &group_of);
  const PredictorInput replay{graph, totals, eager, workload, device, eager_roofline, groups, group_of};
  FORERUN_TRY(const Predictor* predictor, predictors.pick(replay, ""));
  FORERUN_TRY(const Answer answer, predictor->predict(replay));
  Workload compiled = workload;
  compiled.runtime = Runtime::Compiled;
  const RooflineEstimate own_roofline = estimate_roofline(own, memory, compiled, device);
  const PredictorInput input{graph, totals, own, compiled, device, own_roofline};
  CompiledInput both{input, replay, answer.estimates};
  std::vector<double> own_us, eager_us;
  if (predictors.trees() != nullptr && predictors.is_measured(replay)) {
    both.compiled_us = own_us = predictors.trees()->kernel_run_us(own, device);
    both.replay_us = eager_us = predictors.trees()->kernel_run_us(eager, device);
  }
  point.kind = run_kind_of(graph, compiled);
  point.facts = compiled_facts(both);
  point.replay_ms = answer.estimates.at(Metric::Latency).value;
  point.replay_memory_mb = answer.estimates.at(Metric::Memory).value;
  point.analytic_ms = own_roofline.latency_graph_ms;
  const Answer unmeasured = compiled_answer(both, nullptr);
  point.measured = {row.latency_ms, row.memory_mb, row.power_w};
  for (std::size_t m = 0; m < kCompiledMetrics.size(); ++m) {
    const Estimate& e = unmeasured.estimates.at(kCompiledMetrics[m]);
    point.base[m] = e.value;
    point.far_width[m] = std::log(e.high / e.value);
  }
  point.row = std::move(row);
  return point;
}

std::vector<std::size_t> measured_points(std::span<const CompiledPoint> points, std::size_t metric) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].measured[metric] > 0 && points[i].base[metric] > 0) found.push_back(i);
  }
  return found;
}

Result<TreeNodes> train_factor(std::span<const CompiledPoint> points, std::span<const std::size_t> rows,
                               std::size_t metric) {
  RowMatrix facts;
  facts.width = compiled_fact_names().size();
  std::vector<float> targets;
  for (const std::size_t i : rows) {
    facts.add(points[i].facts);
    targets.push_back(float(std::log(points[i].measured[metric] / points[i].base[metric])));
  }
  TreeParameters p;
  p.rounds = 300;
  p.max_depth = 4;
  p.eta = 0.05;
  p.subsample = 0.7;
  p.colsample = 0.5;
  p.min_child_weight = 3;
  p.lambda = 2;
  p.huber_slope = 0.2;
  p.seed = kSeed;
  return train_trees({&facts, targets, {}}, p);
}

}  // namespace

Result<std::vector<CompiledPoint>> compiled_points(std::vector<CompiledRow> rows, const ProgressLine& progress) {
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  const PredictorSet predictors = PredictorSet::load();
  for (const std::string& problem : predictors.problems()) progress(problem);
  std::vector<std::optional<CompiledPoint>> made(rows.size());
  std::vector<std::optional<Error>> problems(rows.size());
  on_cores(rows.size(), [&](std::size_t i) {
    const std::string name = rows[i].run.row_id;
    const auto device = catalogue.find(rows[i].run.device);
    Result<CompiledPoint> point = device ? point_of(std::move(rows[i]), predictors, *device) : device.error();
    if (point) {
      made[i] = std::move(*point);
    } else {
      problems[i] = Error{point.error().kind, name + ": " + point.error().message};
    }
  });
  std::vector<CompiledPoint> points;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (problems[i]) return *problems[i];
    points.push_back(std::move(*made[i]));
  }
  return points;
}

Result<std::vector<double>> hold_out_compiled(std::span<const CompiledPoint> points, std::size_t metric, SplitKind kind,
                                              std::uint64_t seed) {
  const std::vector<std::size_t> rows = measured_points(points, metric);
  std::vector<SplitKey> keys;
  for (const std::size_t i : rows) keys.push_back(split_key(points[i].row.run));
  std::vector<double> predicted(points.size(), 0);
  for (const Fold& fold : split(keys, kind, seed)) {
    std::vector<std::size_t> train;
    for (const std::size_t i : fold.train) train.push_back(rows[i]);
    FORERUN_TRY(const TreeNodes nodes, train_factor(points, train, metric));
    const Forest forest(nodes);
    for (const std::size_t i : fold.test) {
      const CompiledPoint& p = points[rows[i]];
      predicted[rows[i]] = p.base[metric] * std::exp(double(forest.predict(p.facts)));
    }
  }
  return predicted;
}

Result<std::string> train_compiled(std::span<const CompiledPoint> points) {
  std::array<TrainedFactor, kCompiledMetrics.size()> factors;
  nlohmann::json provenance = {{"rows", nlohmann::json::object()}};
  for (std::size_t m = 0; m < kCompiledMetrics.size(); ++m) {
    const std::vector<std::size_t> rows = measured_points(points, m);
    if (rows.size() < kFewestPoints) continue;
    FORERUN_TRY(factors[m].trees, train_factor(points, rows, m));
    FORERUN_TRY(const std::vector<double> held, hold_out_compiled(points, m, SplitKind::LeaveOneFamilyOut, kSeed));
    std::map<RunKind, std::vector<double>> errors;
    for (const std::size_t i : rows)
      errors[points[i].kind].push_back(std::abs(std::log(held[i] / points[i].measured[m])));
    for (const auto& [kind, list] : errors) factors[m].half_width[std::size_t(kind)] = conformal_half_width(list);
    provenance["rows"][std::string(name_of(kCompiledMetrics[m]))] = rows.size();
  }
  return make_compiled_bundle(points.empty() ? "" : points.front().row.run.device, factors, provenance.dump());
}

}  // namespace forerun
