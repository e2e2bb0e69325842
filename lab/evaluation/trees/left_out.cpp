#include "evaluation/trees/left_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "training/trees/network_kernels.hpp"

namespace forerun {
namespace {

constexpr int kTrainingShare = 4;  // of ten networks: enough to learn from, quick to train
constexpr std::size_t kOperatorStep = 3;
constexpr double kOneDeviceMore = 1.25;  // the next device may lie further off than any of the few before it

std::string_view metric_of(const Example& example) {
  return example.metrics.contains(kLatencyGraph) ? kLatencyGraph : kLatencyEager;
}
RunMetric tree_metric_of(const Example& example) {
  return example.metrics.contains(kLatencyGraph) ? RunMetric::LatencyGraph : RunMetric::LatencyEager;
}

std::vector<Fold> folds_of(const TreeRows& rows) {
  std::set<std::string> devices;
  for (const Example& e : rows.examples) devices.insert(e.device);
  std::vector<Fold> folds;
  for (const std::string& device : devices) {
    Fold fold{device, rows_to_learn(rows, device), {}};
    for (std::size_t i = 0; i < rows.examples.size(); ++i) {
      if (rows.examples[i].device == device) fold.test.push_back(i);
    }
    folds.push_back(std::move(fold));
  }
  return folds;
}

// Log-linear fit and plain-target XGBoost, on rows whose columns were made without the device.
Status add_baselines(const TreeRows& rows, const Fold& fold, const Forest& operators, LeftOutAnswers& answers) {
  TreeRows mine;
  std::vector<std::size_t> place;
  for (const auto* list : {&fold.train, &fold.test}) {
    for (const std::size_t i : *list) {
      mine.examples.push_back(rows.examples[i]);
      mine.inputs.push_back(rows.inputs[i]);
      sum_kernels(mine.inputs.back(), operators);
      place.push_back(i);
    }
  }
  for (const auto& [domain, metric] : {std::pair(RunKind::LanguageInference, RunMetric::LatencyGraph),
                                       std::pair(RunKind::VisionInference, RunMetric::LatencyEager)}) {
    const MetricRows metric_table = metric_rows(mine, domain, metric);
    std::vector<std::size_t> train, test;
    for (std::size_t r = 0; r < metric_table.example.size(); ++r)
      (metric_table.example[r] < fold.train.size() ? train : test).push_back(r);
    if (train.empty() || test.empty()) continue;
    const LogLinearFit fit = fit_log_linear(metric_table, train);
    MetricTraining training = shipped_training(domain, metric);
    training.target = TargetKind::Plain;
    FORERUN_TRY(const TreeNodes trees, train_metric(metric_table, train, training));
    const Forest plain(trees);
    for (const std::size_t r : test) {
      const std::size_t i = place[metric_table.example[r]];
      answers.log_linear[i] = fit.predict(metric_table.features.row(r));
      answers.plain[i] = std::max(1e-4, double(plain.predict(metric_table.features.row(r))));
    }
  }
  return ok();
}

// Kernels as they ship for devices that were not measured, taught by operators of the other chips.
Result<TransferForest> train_transfer(const TreeStudy& study, const std::string& left_out) {
  std::vector<OperatorRows> others;
  for (const OperatorRows& row : study.operators) {
    if (chip_of(row.device) != chip_of(left_out)) others.push_back(row);
  }
  FORERUN_TRY(const TreeNodes trees, train_kernels(others, transfer_training()));
  return TransferForest{Forest(trees), kinds_of(others)};
}

}  // namespace

std::string chip_of(const std::string& device) {
  std::string chip = device;
  for (const char* board : {"-sxm", "-pcie", "-nvl", "-server", "-max-q"}) {
    if (const auto at = chip.find(board); at != std::string::npos) chip.resize(at);
  }
  return chip;
}

Result<TreeNodes> train_elsewhere(const TreeStudy& study, std::span<const std::size_t> rows) {
  std::vector<TeachingRun> train;
  for (const std::size_t i : rows) {
    if (teaches_kernels(study.elsewhere.examples[i], study.elsewhere.inputs[i]))
      train.push_back({&study.elsewhere.examples[i], &study.elsewhere.inputs[i]});
  }
  for (std::size_t i = 0; i < study.rows.examples.size(); ++i) {
    if (teaches_kernels(study.rows.examples[i], study.rows.inputs[i]))
      train.push_back({&study.rows.examples[i], &study.rows.inputs[i]});
  }
  return train_network_kernels(train);
}

std::vector<std::size_t> rows_to_learn(const TreeRows& rows, const std::string& left_out) {
  std::vector<std::size_t> train;
  for (std::size_t i = 0; i < rows.examples.size(); ++i) {
    if (chip_of(rows.examples[i].device) != chip_of(left_out) &&
        mix_seed(rows.examples[i].network, 7) % 10 < kTrainingShare)
      train.push_back(i);
  }
  return train;
}

Result<LeftOutAnswers> leave_devices_out(const TreeStudy& study, bool baselines, const ProgressLine& progress) {
  const TreeRows& rows = study.elsewhere;
  const std::size_t count = rows.inputs.size();
  LeftOutAnswers answers;
  for (auto* list : {&answers.measured, &answers.roofline, &answers.kernel_sum, &answers.learned, &answers.log_linear,
                     &answers.plain})
    list->assign(count, 0);
  answers.waits.assign(count, 0);
  answers.inputs.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    answers.measured[i] = rows.examples[i].metrics.find(metric_of(rows.examples[i]))->second;
    answers.roofline[i] = roofline_answer(rows.inputs[i], tree_metric_of(rows.examples[i]));
  }
  for (const Fold& fold : folds_of(rows)) {
    FORERUN_TRY(const TreeNodes trees, train_elsewhere(study, fold.train));
    const Forest learned(trees);
    FORERUN_TRY(const TransferForest transfer, train_transfer(study, fold.held_out));
    const auto host = host_factors(rows, fold.train, generation_of(rows.inputs[fold.test.front()]));
    for (const std::size_t i : fold.test) {
      const RunMetric metric = tree_metric_of(rows.examples[i]);
      TreeInput input = rows.inputs[i];
      sum_transferred(input, transfer);
      answers.kernel_sum[i] = tree_base(input, metric);
      answers.waits[i] = metric == RunMetric::LatencyEager && host_may_decide(input);
      const auto found = host.find(rows.examples[i].campaign);
      if (input.domain == RunKind::LanguageInference) {
        sum_network_kernels(input, learned);
      } else if (found != host.end()) {
        sum_network_kernels(input, Forest());
        input.host_ms *= found->second;
      }  // else kernels decide, and their sum is the answer
      answers.learned[i] = tree_base(input, metric);
      input.facts = {};
      answers.inputs[i] = std::move(input);
    }
    if (baselines) {
      std::vector<OperatorRows> operators;
      for (std::size_t o = 0; o < study.operators.size(); o += kOperatorStep) {
        if (chip_of(study.operators[o].device) != chip_of(fold.held_out)) operators.push_back(study.operators[o]);
      }
      FORERUN_TRY(const TreeNodes kernels, train_kernels(operators, {}));
      FORERUN_CHECK(add_baselines(rows, fold, Forest(kernels), answers));
    }
    double sum = 0;
    for (const std::size_t i : fold.test) sum += std::abs(answers.learned[i] / answers.measured[i] - 1);
    progress(fmt::format("left out {}: {} rows, learned {:.1f} %", fold.held_out, fold.test.size(),
                         100 * sum / double(std::max<std::size_t>(1, fold.test.size()))));
  }
  return answers;
}

double left_out_half_width(const TreeRows& rows, const LeftOutAnswers& answers, const std::vector<double>& predicted,
                           std::string_view metric, const std::string& left_out) {
  std::map<std::string, std::vector<double>> errors;
  for (std::size_t i = 0; i < rows.examples.size(); ++i) {
    const Example& e = rows.examples[i];
    if (e.device != left_out && metric_of(e) == metric)
      errors[e.device].push_back(std::abs(std::log(predicted[i] / answers.measured[i])));
  }
  double half = 0;
  for (auto& [device, values] : errors) half = std::max(half, quantile(std::move(values), 0.9));
  return half > 0 ? kOneDeviceMore * half : 1;
}

}  // namespace forerun
