// From measured rows to trees: the kernel forest from operator sweeps, then one forest per kind of run and metric.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/splits.hpp"
#include "dataset/tree_rows.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "training/trees/booster.hpp"

namespace forerun {

struct KernelTraining {
  KernelBasis basis = KernelBasis::Measured;
  int bags = 1;  // forests of different seeds, averaged
  TreeParameters parameters = {.rounds = 150,
                               .max_depth = 10,
                               .eta = 0.2,
                               .subsample = 0.8,
                               .colsample = 0.5,
                               .min_child_weight = 1,
                               .lambda = 1,
                               .huber_slope = 0,
                               .max_bins = 128,
                               .seed = 1,
                               .monotone = {},
                               .early_stopping = 0};
};
// For devices that were not measured: deep enough for shapes, and every device and source weighs alike.
[[nodiscard]] KernelTraining transfer_training();
// Learns log(real / ideal or physical) of kernels from operators' times; an operator of several kernels teaches their
// sum.
Result<TreeNodes> train_kernels(std::span<const OperatorRows> operators, const KernelTraining& training);
// Convolutions that took far longer or shorter than the trees learned.
[[nodiscard]] KnownKernels remember_kernels(std::span<const OperatorRows> operators, const Forest& kernels);

// Learns log(host time of a call / kUsualHostUs) of convolutions in groups; no trees where none was timed.
Result<TreeNodes> train_grouped_host(std::span<const OperatorRows> operators);

// How the target is stated: the usual log ratio to the base, or (for comparison) the plain value.
enum class TargetKind : std::uint8_t { LogRatio, Plain };
// Which columns may be used: the published ablation.
enum class ColumnSet : std::uint8_t { All, MacsOnly, MacsParametersMemory, ModelOnly, Count };

struct MetricTraining {
  TreeParameters parameters;
  TargetKind target = TargetKind::LogRatio;
  int bags = 1;  // forests of different seeds, averaged
};
// The parameters found by `forerun-lab search` (data/training/trees.json) for a metric.
[[nodiscard]] MetricTraining shipped_training(RunKind domain, RunMetric metric);
[[nodiscard]] nlohmann::ordered_json parameters_json(const TreeParameters& parameters);

// Rows of one domain and metric, ready to train on.
struct MetricRows {
  RowMatrix features;
  std::vector<float> log_ratio;  // log(measured / base)
  std::vector<float> weight;     // in training
  std::vector<double> measured, base, roofline;
  std::vector<std::size_t> example;  // index into TreeRows::inputs
};
[[nodiscard]] MetricRows metric_rows(const TreeRows& rows, RunKind domain, RunMetric metric);

Result<TreeNodes> train_metric(const MetricRows& rows, std::span<const std::size_t> train,
                               const MetricTraining& training);

// log(measured) = a + b · log(columns): the plain log-linear fit that stands in every table.
struct LogLinearFit {
  std::vector<double> weights;
  [[nodiscard]] double predict(std::span<const float> row) const;
};
[[nodiscard]] LogLinearFit fit_log_linear(const MetricRows& rows, std::span<const std::size_t> train);

}  // namespace forerun
