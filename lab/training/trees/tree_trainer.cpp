#include "training/trees/tree_trainer.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "base/embedded.hpp"
#include "features/transfer_facts.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_training();

namespace {

constexpr double kLargestError = 0.4;  // of the log: a wild row pulls no harder than this
constexpr float kJump =
    0.2F;  // of the log: a kernel so far from what trees learned of its like is remembered by itself
constexpr double kUsualSweep = 600;  // rows of one device in one sweep
constexpr int kStepBags =
    4;  // steps are few and their hosts uneven: one forest is not enough, and each answer walks them once

TreeNodes average(std::vector<TreeNodes> forests) {
  if (forests.size() == 1) return std::move(forests.front());
  TreeNodes all;
  const float share = 1.0F / float(forests.size());
  for (const TreeNodes& forest : forests) {
    const auto shift = std::uint32_t(all.nodes.size());
    for (TreeNode node : forest.nodes) {
      if (node.children == 0) {
        node.value *= share;
      } else {
        node.children += shift;
      }
      all.nodes.push_back(node);
    }
    for (const float mean : forest.means) all.means.push_back(mean * share);
    for (const std::uint32_t root : forest.roots) all.roots.push_back(root + shift);
    all.base += forest.base * share;
  }
  return all;
}

}  // namespace

KernelTraining transfer_training() {
  KernelTraining training;
  training.basis = KernelBasis::Transfer;
  training.bags = 3;
  training.parameters.rounds = 50;
  training.parameters.max_depth = 9;
  training.parameters.eta = 0.2;
  training.parameters.min_child_weight = 5;
  return training;
}

Result<TreeNodes> train_kernels(std::span<const OperatorRows> operators, const KernelTraining& training) {
  const bool transfer = training.basis == KernelBasis::Transfer;
  RowMatrix facts;
  facts.width = transfer ? transfer_fact_count() : kernel_fact_count();
  std::vector<std::uint32_t> owner;
  std::vector<double> base;
  std::map<std::pair<std::string, std::string>, double> sweeps;  // rows by device and source
  for (std::size_t o = 0; o < operators.size(); ++o) {
    const std::vector<float>& values = transfer ? operators[o].transfer_facts : operators[o].facts;
    const std::vector<double>& us = transfer ? operators[o].physics_us : operators[o].ideal_us;
    facts.values.insert(facts.values.end(), values.begin(), values.end());
    owner.insert(owner.end(), us.size(), std::uint32_t(o));
    base.insert(base.end(), us.begin(), us.end());
    ++sweeps[{operators[o].device, operators[o].source}];
  }
  std::vector<double> weight(operators.size(), 1);
  for (std::size_t o = 0; transfer && o < operators.size(); ++o) {
    weight[o] = operators[o].at_floor ? 0 : kUsualSweep / sweeps[{operators[o].device, operators[o].source}];
  }
  // Half the squared log error of each operator's sum, derived by each kernel's score. The second derivative is the
  // kernel's share of the time: an upper bound that keeps every step safe.
  std::vector<double> time(base.size()), sum(operators.size());
  const auto gradients = [&](std::span<const float> scores, std::span<float> first, std::span<float> second) {
    for (std::size_t o = 0; o < operators.size(); ++o) sum[o] = transfer ? operators[o].timing_us : 0;
    for (std::size_t k = 0; k < base.size(); ++k) {
      time[k] = base[k] * std::exp(double(scores[k]));
      sum[owner[k]] += time[k];
    }
    for (std::size_t k = 0; k < base.size(); ++k) {
      const double whole = sum[owner[k]], share = weight[owner[k]] * time[k] / whole;
      const double error = std::clamp(std::log(whole / operators[owner[k]].measured_us), -kLargestError, kLargestError);
      first[k] = float(error * share);
      second[k] = float(share);
    }
  };
  std::vector<TreeNodes> forests;
  for (int bag = 0; bag < training.bags; ++bag) {
    TreeParameters p = training.parameters;
    p.seed += std::uint64_t(bag);
    FORERUN_TRY(TreeNodes forest, train_trees(facts, p, gradients));
    forests.push_back(std::move(forest));
  }
  return average(std::move(forests));
}

KnownKernels remember_kernels(std::span<const OperatorRows> operators, const Forest& kernels) {
  struct Seen {
    float learned = 0;
    std::vector<float> measured;
  };
  std::map<std::uint64_t, Seen> by_key;
  for (const OperatorRows& row : operators) {
    if (row.key == 0) continue;
    const auto [found, is_new] = by_key.try_emplace(row.key);
    if (is_new) found->second.learned = kernels.predict(row.facts);
    found->second.measured.push_back(float(std::log(row.measured_us / row.ideal_us.front())));
  }
  std::vector<std::pair<std::uint64_t, float>> scores;
  for (auto& [key, seen] : by_key) {
    const auto middle = seen.measured.begin() + std::ptrdiff_t(seen.measured.size() / 2);
    std::nth_element(seen.measured.begin(), middle, seen.measured.end());
    if (std::abs(*middle - seen.learned) > kJump) scores.emplace_back(key, *middle);
  }
  return KnownKernels(scores);
}

Result<TreeNodes> train_grouped_host(std::span<const OperatorRows> operators) {
  RowMatrix facts;
  facts.width = kernel_fact_count();
  std::vector<float> target;
  for (const OperatorRows& row : operators) {
    if (row.grouped < 0 || row.host_us <= 0) continue;
    facts.add(std::span(row.facts).subspan(std::size_t(row.grouped) * facts.width, facts.width));
    target.push_back(float(std::log(row.host_us / kUsualHostUs)));
  }
  if (target.empty()) return TreeNodes{};
  return train_trees({&facts, target, {}}, {.rounds = 80,
                                            .max_depth = 7,
                                            .eta = 0.15,
                                            .subsample = 0.8,
                                            .colsample = 0.6,
                                            .min_child_weight = 3,
                                            .lambda = 1,
                                            .huber_slope = 0.3,
                                            .max_bins = 128,
                                            .seed = 1,
                                            .monotone = {},
                                            .early_stopping = 0});
}

nlohmann::ordered_json parameters_json(const TreeParameters& p) {
  return {{"rounds", p.rounds},       {"max_depth", p.max_depth},    {"eta", p.eta},
          {"subsample", p.subsample}, {"colsample", p.colsample},    {"min_child_weight", p.min_child_weight},
          {"lambda", p.lambda},       {"huber_slope", p.huber_slope}};
}

MetricTraining shipped_training(RunKind domain, RunMetric metric) {
  static const nlohmann::json kSearched = [] {
    for (const EmbeddedFile& file : embedded_training()) {
      if (file.name == "trees.json") return nlohmann::json::parse(file.bytes.begin(), file.bytes.end());
    }
    return nlohmann::json::object();
  }();
  MetricTraining training;
  if (metric == RunMetric::Step) training.bags = kStepBags;
  TreeParameters& p = training.parameters;
  if (const auto of_domain = kSearched.find(std::string(name_of(domain))); of_domain != kSearched.end()) {
    if (const auto found = of_domain->find(std::string(name_of(metric))); found != of_domain->end()) {
      p.rounds = found->at("rounds");
      p.max_depth = found->at("max_depth");
      p.eta = found->at("eta");
      p.subsample = found->at("subsample");
      p.colsample = found->at("colsample");
      p.min_child_weight = found->at("min_child_weight");
      p.lambda = found->at("lambda");
      p.huber_slope = found->at("huber_slope");
    }
  }
  return training;
}

MetricRows metric_rows(const TreeRows& rows, RunKind domain, RunMetric metric) {
  MetricRows out;
  out.features.width = tree_column_names().size();
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    const TreeInput& input = rows.inputs[i];
    const auto found = rows.examples[i].metrics.find(name_of(metric));
    if (input.domain != domain || found == rows.examples[i].metrics.end()) continue;
    const double base = tree_base(input, metric);
    out.features.add(tree_row(input));
    out.measured.push_back(found->second);
    out.base.push_back(base);
    out.roofline.push_back(roofline_answer(input, metric));
    out.weight.push_back(
        metric == RunMetric::LatencyEager || metric == RunMetric::Step ? float(rows.examples[i].host_weight) : 1.0F);
    out.log_ratio.push_back(float(std::log(found->second / base)));
    out.example.push_back(i);
  }
  return out;
}

Result<TreeNodes> train_metric(const MetricRows& rows, std::span<const std::size_t> train,
                               const MetricTraining& training) {
  const RowMatrix features = take_rows(rows.features, train);
  std::vector<float> targets, weights;
  for (const std::size_t i : train) weights.push_back(rows.weight[i]);
  for (const std::size_t i : train)
    targets.push_back(training.target == TargetKind::Plain ? float(rows.measured[i]) : rows.log_ratio[i]);
  std::vector<TreeNodes> forests;
  for (int bag = 0; bag < training.bags; ++bag) {
    TreeParameters p = training.parameters;
    if (training.target == TargetKind::Plain) p.huber_slope = 0;  // its slope is stated for logarithms
    p.seed = p.seed * 1000 + std::uint64_t(bag);
    FORERUN_TRY(TreeNodes forest, train_trees({&features, targets, weights}, p));
    forests.push_back(std::move(forest));
  }
  return average(std::move(forests));
}

double LogLinearFit::predict(std::span<const float> row) const {
  double sum = weights.back();
  for (std::size_t c = 0; c + 1 < weights.size(); ++c) sum += weights[c] * row[c];
  return std::exp(sum);
}

LogLinearFit fit_log_linear(const MetricRows& rows, std::span<const std::size_t> train) {
  // Only what a person would fit by hand: logarithms of batch, sequence, macs, parameters, bytes and kernels.
  const auto width = Eigen::Index(rows.features.width + 1);
  LogLinearFit fit;
  fit.weights.assign(std::size_t(width), 0);
  std::vector<std::size_t> used;
  for (std::size_t c = 0; c < tree_column_names().size(); ++c) {
    for (const char* name : {"log_batch", "log_sequence", "element_bytes", "log_macs", "log_parameters",
                             "log_bytes_moved", "log_activation_peak", "log_kernels"}) {
      if (tree_column_names()[c] == name) used.push_back(c);
    }
  }
  const auto n = Eigen::Index(train.size()), k = Eigen::Index(used.size() + 1);
  Eigen::MatrixXd x(n, k);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const std::size_t r = train[std::size_t(i)];
    for (Eigen::Index c = 0; c + 1 < k; ++c) x(i, c) = rows.features.row(r)[used[std::size_t(c)]];
    x(i, k - 1) = 1;
    y(i) = std::log(rows.measured[r]);
  }
  const Eigen::MatrixXd normal = x.transpose() * x + 1e-6 * Eigen::MatrixXd::Identity(k, k);
  const Eigen::VectorXd solution = normal.ldlt().solve(x.transpose() * y);
  for (std::size_t c = 0; c < used.size(); ++c) fit.weights[used[c]] = solution(Eigen::Index(c));
  fit.weights.back() = solution(k - 1);
  return fit;
}

}  // namespace forerun
