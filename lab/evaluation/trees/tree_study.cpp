#include "evaluation/trees/tree_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/on_cores.hpp"
#include "dataset/load_campaign.hpp"
#include "dataset/operators.hpp"
#include "dataset/public_networks.hpp"
#include "evaluation/trees/left_out.hpp"
#include "training/products/product_fit.hpp"
#include "training/trees/kernel_power_training.hpp"
#include "training/trees/network_kernels.hpp"

namespace forerun {
namespace {

std::string provenance_of(const TreeStudy& study) {
  std::map<std::string, std::size_t> campaigns, operators, elsewhere;
  for (const std::size_t i : rows_to_learn(study.elsewhere)) {
    if (teaches_kernels(study.elsewhere.examples[i], study.elsewhere.inputs[i]))
      ++elsewhere[study.elsewhere.examples[i].campaign + "/" + study.elsewhere.examples[i].device];
  }
  for (const Example& e : study.rows.examples) ++campaigns[e.campaign];
  for (const OperatorRows& o : study.operators) ++operators[o.source];
  nlohmann::json json = {{"networks", campaigns},
                         {"networks_elsewhere", elsewhere},
                         {"operators", operators},
                         {"left_out", nlohmann::json::array()}};
  for (const SkippedRows& s : study.skipped) json["left_out"].push_back({{"reason", s.reason}, {"rows", s.rows}});
  return json.dump();
}

// How far the bare kernel sum is from the measured latency, on the log scale.
TreeInterval kernel_interval(const TreeRows& rows, RunMetric metric) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    const auto found = rows.examples[i].metrics.find(name_of(metric));
    if (found != rows.examples[i].metrics.end())
      errors.push_back(std::abs(std::log(tree_base(rows.inputs[i], metric) / found->second)));
  }
  const double half = errors.empty() ? 1.0 : quantile(errors, 0.9);
  return {half, 1.6 * half};  // at least: train_networks() knows how far off they are on devices left out
}

// Kernels taught by whole networks, with intervals from networks and from devices left out.
Status train_networks(const TreeStudy& study, TrainedTrees& trained, nlohmann::json& evaluation,
                      const ProgressLine& progress) {
  const TreeRows& rows = study.elsewhere;
  const std::vector<std::size_t> train = rows_to_learn(rows);
  const auto teaches = [&](std::size_t i) { return teaches_kernels(rows.examples[i], rows.inputs[i]); };
  if (std::none_of(train.begin(), train.end(), teaches)) return ok();
  FORERUN_TRY(trained.networks, train_elsewhere(study, train));
  FORERUN_TRY(const LeftOutAnswers left_out, leave_devices_out(study, false, progress));
  const Forest forest(trained.networks);
  std::vector<Judged> known, unfamiliar;
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    if (!teaches(i)) continue;
    const Example& e = rows.examples[i];
    trained.network_devices.insert(e.device);
    unfamiliar.push_back({left_out.measured[i], left_out.learned[i], 0, 0, e.family, e.device, e.network});
    if (std::binary_search(train.begin(), train.end(), i)) continue;  // its network was trained on
    TreeInput input = rows.inputs[i];
    sum_network_kernels(input, forest);
    known.push_back({left_out.measured[i], input.kernel_ms, 0, 0, e.family, e.device, e.network});
    errors.push_back(std::abs(std::log(input.kernel_ms / left_out.measured[i])));
  }
  trained.network_interval = {quantile(errors, 0.9),
                              left_out_half_width(rows, left_out, left_out.learned, kLatencyGraph)};
  trained.kernel_graph.unfamiliar = std::max(trained.kernel_graph.unfamiliar,
                                             left_out_half_width(rows, left_out, left_out.kernel_sum, kLatencyGraph));
  trained.kernel_eager.unfamiliar = std::max(trained.kernel_eager.unfamiliar,
                                             left_out_half_width(rows, left_out, left_out.kernel_sum, kLatencyEager));
  const std::pair<const char*, Accuracy> protocols[] = {{"by_architecture", measure_accuracy(known)},
                                                        {"leave_one_device_out", measure_accuracy(unfamiliar)}};
  for (const auto& [protocol, accuracy] : protocols) {
    progress(fmt::format("language models elsewhere, {}: {} rows, MAPE {:.1f} % (median {:.1f} %)", protocol,
                         accuracy.rows, accuracy.mape, accuracy.median_ape));
    evaluation.push_back({{"domain", "llm_elsewhere"},
                          {"metric", kLatencyGraph},
                          {"protocol", protocol},
                          {"rows", accuracy.rows},
                          {"mape", accuracy.mape},
                          {"median_ape", accuracy.median_ape}});
  }
  return ok();
}

// Mean power of each example's kernels, by trees that did not see it. Eager passes, steps and replays of all kinds of
// runs teach together.
Result<std::vector<double>> evaluate_held_out_power(const TreeStudy& study, SplitKind kind, std::uint64_t seed,
                                                    unsigned threads) {
  std::vector<std::size_t> examples;  // a run's eager and replayed readings stay together
  std::vector<std::vector<PowerReading>> readings;
  for (const PowerReading& r : power_readings(study.rows)) {
    if (examples.empty() || examples.back() != r.example) {
      examples.push_back(r.example);
      readings.emplace_back();
    }
    readings.back().push_back(r);
  }
  std::vector<SplitKey> keys;
  for (const std::size_t i : examples) keys.push_back(split_key(study.rows.examples[i]));
  const std::vector<Fold> folds = split(keys, kind, seed);
  std::vector<double> busy_w(study.rows.examples.size(), 0);
  std::vector<std::optional<Error>> failed(folds.size());
  const auto one = [&](std::size_t f) {
    std::vector<PowerReading> train;
    for (const std::size_t i : folds[f].train) train.insert(train.end(), readings[i].begin(), readings[i].end());
    const auto trees = train_kernel_power(study.rows, train, seed * 101 + f);
    if (!trees) {
      failed[f] = trees.error();
      return;
    }
    const Forest forest(*trees);
    for (const std::size_t i : folds[f].test)
      busy_w[examples[i]] = busy_power_w(study.rows.inputs[examples[i]], forest);
  };
  on_cores(folds.size(), one, threads);
  for (const auto& error : failed) {
    if (error) return *error;
  }
  return busy_w;
}

Result<HeldOut> evaluate_held_out_power(const TreeStudy& study, RunKind domain, RunMetric metric, SplitKind kind,
                                        std::uint64_t seed, unsigned threads) {
  auto& known = study.cache->busy_w;
  if (!known.contains({kind, seed})) {
    FORERUN_TRY(std::vector<double> busy_w, evaluate_held_out_power(study, kind, seed, threads));
    known[{kind, seed}] = std::move(busy_w);
  }
  const std::vector<double>& busy_w = known[{kind, seed}];
  struct Latency {
    double predicted = 0, unfamiliarity = 0;
    int fold = -1;
  };
  const auto latencies = [&](RunMetric of) -> Result<std::map<std::size_t, Latency>> {
    FORERUN_TRY(const HeldOut held, hold_out(study, domain, of, kind, seed, threads));
    const MetricRows rows = metric_rows(study.rows, domain, of);
    std::map<std::size_t, Latency> by_example;
    for (std::size_t i = 0; i < rows.example.size(); ++i)
      by_example[rows.example[i]] = {held.predicted[i], held.unfamiliarity[i], held.fold[i]};
    return by_example;
  };
  FORERUN_TRY(const auto latency, latencies(latency_metric(domain, metric)));
  std::map<std::size_t, Latency> replayed;
  if (domain == RunKind::VisionInference) {
    FORERUN_TRY(replayed, latencies(RunMetric::LatencyGraph));
  }
  const MetricRows rows = metric_rows(study.rows, domain, metric);
  HeldOut held;
  for (const std::size_t i : rows.example) {
    const auto found = latency.find(i);
    const Latency of = found == latency.end() ? Latency{} : found->second;
    const auto graph = replayed.find(i);
    const CountedPass pass =
        counted_pass(study.rows.inputs[i], metric, of.predicted, graph == replayed.end() ? 0 : graph->second.predicted);
    held.predicted.push_back(energy_or_power(metric, pass, busy_w[i]));
    held.unfamiliarity.push_back(of.unfamiliarity);
    held.fold.push_back(busy_w[i] > 0 ? of.fold : -1);
  }
  return held;
}

void take_products(std::vector<OperatorExample>& from, std::vector<OperatorExample>& to) {
  std::copy_if(std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()), std::back_inserter(to),
               [](const OperatorExample& e) { return is_matrix_operator(e); });
}

}  // namespace

Result<HeldOut> hold_out(const TreeStudy& study, RunKind domain, RunMetric metric, SplitKind kind, std::uint64_t seed,
                         unsigned threads) {
  const std::tuple key(domain, metric, kind, seed);
  if (const auto found = study.cache->metrics.find(key); found != study.cache->metrics.end()) return found->second;
  if (is_energy_or_power(metric)) return evaluate_held_out_power(study, domain, metric, kind, seed, threads);
  FORERUN_TRY(HeldOut held, cross_validate(study.rows, metric_rows(study.rows, domain, metric), kind, seed,
                                           shipped_training(domain, metric), threads));
  return study.cache->metrics[key] = std::move(held);
}

std::set<std::string> kinds_of(std::span<const OperatorRows> operators) {
  std::set<std::string> kinds;
  for (const OperatorRows& row : operators) kinds.insert(row.kinds.begin(), row.kinds.end());
  return kinds;
}

Result<TreeStudy> open_study(const StudyOptions& options, const ProgressLine& progress) {
  TreeStudy study;
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  FORERUN_TRY(Dataset data, load_measurements(options.data));
  study.skipped = std::move(data.skipped);
  study.set_aside = options.set_aside;
  if (options.set_aside)
    std::erase_if(data.examples, [](const Example& e) { return set_aside(e.network) == SetAside::Judged; });
  FORERUN_TRY(study.rows, make_tree_rows(std::move(data.examples), catalogue, options.threads));
  for (const std::string& failure : study.rows.failures) progress("left out: " + failure);
  FORERUN_TRY(std::vector<OperatorExample> own, load_operator_campaigns(options.data));
  study.operators = make_operator_rows(own, catalogue);
  take_products(own, study.products);
  if (!options.public_data.empty() && std::filesystem::is_directory(options.public_data)) {
    OperatorOptions sampling;
    sampling.rows_per_device = options.public_rows;
    FORERUN_TRY(std::vector<OperatorExample> more, load_public_operators(options.public_data, sampling));
    auto rows = make_operator_rows(more, catalogue);
    std::move(rows.begin(), rows.end(), std::back_inserter(study.operators));
    take_products(more, study.products);
    FORERUN_TRY(std::vector<OperatorExample> layers,
                load_layer_operators(options.public_data,
                                     {.rows_per_device = options.public_rows / 4}));  // a row is four products
    take_products(layers, study.layers);
  }
  if (!options.public_data.empty() && options.public_networks > 0 &&
      std::filesystem::is_directory(options.public_data)) {
    FORERUN_TRY(Dataset others, load_public_networks(options.public_data, {.architectures = options.public_networks,
                                                                           .timm_graphs = options.timm_graphs}));
    FORERUN_TRY(study.elsewhere,
                make_tree_rows(std::move(others.examples), catalogue, options.threads, KernelBasis::Transfer));
    for (const std::string& failure : study.elsewhere.failures) progress("left out: " + failure);
  }
  progress(fmt::format("{} runs of networks, {} on other devices, {} operators", study.rows.examples.size(),
                       study.elsewhere.examples.size(), study.operators.size()));
  if (study.operators.empty())
    return bad_input(options.data + ": no operators.csv in any campaign: the kernel sum needs them");
  FORERUN_TRY(study.kernels, train_kernels(study.operators, {}));
  FORERUN_TRY(study.transfer, train_kernels(study.operators, transfer_training()));
  const Forest forest(study.kernels);
  study.known = remember_kernels(study.operators, forest);
  FORERUN_TRY(study.host, train_grouped_host(study.operators));
  const Forest host(study.host);
  sum_kernels(study.rows.inputs, forest, study.known);
  time_grouped_host(study.rows.inputs, host);
  progress("kernels learned");
  return study;
}

std::vector<std::pair<RunKind, RunMetric>> learnable(const TreeRows& rows) {
  std::map<std::pair<RunKind, RunMetric>, std::size_t> counts;
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) {
      if (rows.examples[i].metrics.contains(name_of(RunMetric(m)))) ++counts[{rows.inputs[i].domain, RunMetric(m)}];
    }
  }
  std::vector<std::pair<RunKind, RunMetric>> pairs;
  for (const auto& [pair, count] : counts) {
    if (count >= kFewestRows) pairs.push_back(pair);
  }
  return pairs;
}

Result<TrainedTrees> train_all(const TreeStudy& study, unsigned threads, const ProgressLine& progress) {
  TrainedTrees trained;
  trained.kernels = study.kernels;
  trained.known = study.known;
  trained.host = study.host;
  trained.transfer = study.transfer;
  trained.transfer_kinds = kinds_of(study.operators);
  trained.kernel_graph = kernel_interval(study.rows, RunMetric::LatencyGraph);
  trained.kernel_eager = kernel_interval(study.rows, RunMetric::LatencyEager);
  trained.provenance = provenance_of(study);
  trained.set_aside = study.set_aside;
  std::map<RunKind, std::vector<std::size_t>> by_domain;
  for (std::size_t i = 0; i < study.rows.inputs.size(); ++i) {
    by_domain[study.rows.inputs[i].domain].push_back(i);
    trained.devices.insert(study.rows.examples[i].device);
    trained.precisions.insert(std::string(name_of(study.rows.examples[i].workload.precision)));
  }
  for (const auto& [domain, examples] : by_domain) trained.familiarity[domain] = familiarity_of(study.rows, examples);
  if (const auto readings = power_readings(study.rows); !readings.empty()) {
    FORERUN_TRY(trained.power, train_kernel_power(study.rows, readings, 1));
  }
  nlohmann::json evaluation = nlohmann::json::array();
  for (const auto& [domain, metric] : learnable(study.rows)) {
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    FORERUN_TRY(const HeldOut known, hold_out(study, domain, metric, SplitKind::ByArchitecture, 1, threads));
    FORERUN_TRY(const HeldOut unfamiliar, hold_out(study, domain, metric, SplitKind::LeaveOneFamilyOut, 1, threads));
    TrainedMetric result;
    result.interval = {conformal_half_width(rows, known), conformal_half_width(rows, unfamiliar)};
    result.interval.unfamiliar = std::max(result.interval.unfamiliar, 1.2 * result.interval.known);
    std::vector<std::size_t> all(rows.measured.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!is_energy_or_power(metric)) {
      FORERUN_TRY(result.trees, train_metric(rows, all, shipped_training(domain, metric)));
    }
    result.lowest.assign(rows.features.width, INFINITY);
    result.highest.assign(rows.features.width, -INFINITY);
    for (const std::size_t i : all) {
      for (std::size_t c = 0; c < rows.features.width; ++c) {
        result.lowest[c] = std::min(result.lowest[c], rows.features.row(i)[c]);
        result.highest[c] = std::max(result.highest[c], rows.features.row(i)[c]);
      }
    }
    const Accuracy accuracy = measure_accuracy(judge(study.rows, rows, known, &known, nullptr));
    progress(fmt::format("{} {}: {} rows, by architecture MAPE {:.1f} % (median {:.1f} %)", name_of(domain),
                         name_of(metric), accuracy.rows, accuracy.mape, accuracy.median_ape));
    evaluation.push_back({{"domain", name_of(domain)},
                          {"metric", name_of(metric)},
                          {"protocol", "by_architecture"},
                          {"rows", accuracy.rows},
                          {"mape", accuracy.mape},
                          {"median_ape", accuracy.median_ape},
                          {"coverage", accuracy.coverage}});
    trained.metrics[{domain, metric}] = std::move(result);
  }
  FORERUN_CHECK(train_networks(study, trained, evaluation, progress));
  trained.evaluation = evaluation.dump();
  return trained;
}

}  // namespace forerun
