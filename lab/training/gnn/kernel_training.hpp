// Trains stacks of our graph network on measured rows and judges the bytes that would ship, through the code that
// ships.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "predictors/gnn/gnn_predictor.hpp"
#include "training/gnn/gnn_rows.hpp"
#include "training/gnn/networks.hpp"
#include "training/gnn/trainer.hpp"

namespace forerun {

using RowIndices = std::vector<std::size_t>;  // into a vector of rows
using ReportEpoch = std::function<void(const EpochReport&)>;

// One network of a stack: the rows it may learn from, and rows it must not, on which it is watched and scored.
struct StackMember {
  std::string name;
  RowIndices train, test;
  bool without_times = false;  // does not see the trees' kernel times (KernelNetOptions)
};

struct KernelTrainingOptions {
  LayerKind kind = LayerKind::Sage;
  std::int64_t width = 64;
  int layers = 3;
  double dropout = 0.1, global_dropout = 0.1;
  bool chain = false;               // join the kernels in a chain instead of along the data
  std::size_t graphs_a_batch = 64;  // networks in a batch; operators are dealt evenly among the batches
  int partitions = 8;               // ways to deal rows into batches; epoch e takes the (e mod partitions)-th
  double operator_weight = 0.3;     // of an operator's loss relative to a network's
  double eager_weight = 0.7;        // of the loss of eager latency or step relative to graph replay's: hosts are noisy
  double bend = 0.05;               // log-error beyond which the loss grows linearly
  double correction_penalty = 0;    // on the graph's corrections of the latency: what kernels explain, kernels should
  int watch_every = 0;              // epochs between looks at the rows held out; 0: never
  torch::Device device = torch::kCPU;
  FitOptions fit;
};

struct TrainedStack {
  std::shared_ptr<KernelNet> network;
  FitResult fit;
  std::vector<double> watched;  // mean loss on held-out rows over all members, every watch_every epochs
};

// `start`: networks to begin with (one, or as many as members), null for none. With several processes each takes its
// share of the batches.
[[nodiscard]] Result<TrainedStack> train_stack(const std::vector<GnnRow>& rows, const std::vector<StackMember>& members,
                                               const KernelTrainingOptions& options, const ReportEpoch& report = {},
                                               ProcessGroup* group = nullptr, KernelNet* start = nullptr);

// A network that has learnt to tell the edges of unlabelled graphs from other pairs of their kernels.
[[nodiscard]] Result<TrainedStack> pretrain_stack(const std::vector<KernelTensors>& graphs,
                                                  const KernelTrainingOptions& options, const ReportEpoch& report = {});

// The learning rate a sweep finds for a fresh network on these rows.
[[nodiscard]] Result<double> find_kernel_net_rate(const std::vector<GnnRow>& rows, const RowIndices& train,
                                                  const KernelTrainingOptions& options);

// 90 % half widths on the log scale, by the names of Scores.
using HalfWidths = std::map<std::string, double>;
// The bundle of some members, whose answers are averaged: weights rounded to 16 bits.
[[nodiscard]] Result<BundleWriter> write_kernel_bundle(const KernelNet& network,
                                                       const std::vector<std::int64_t>& members,
                                                       const HalfWidths& half_widths, BundleManifest manifest);

// Predicted and measured values of one metric.
struct Scored {
  std::vector<double> predicted, measured;
  RowIndices rows;
  [[nodiscard]] double mape() const;  // of measured values, in per cent
  [[nodiscard]] double rmse() const;
  [[nodiscard]] double rmspe() const;  // root mean square of the relative error, in per cent
};
// By kind of run and metric: "vision_inference latency_graph_ms", "vision_training step_ms", "llm power_w", …;
// operators: "operators latency_graph_ms".
using Scores = std::map<std::string, Scored>;
[[nodiscard]] std::string score_name(const GnnRow& row, std::string_view metric);
[[nodiscard]] Result<Scores> score_bundle(const Bundle& bundle, const std::vector<GnnRow>& rows,
                                          const RowIndices& test);
// Scores of several members of a stack as one ensemble, which answers as a bundle of them would.
[[nodiscard]] Result<Scores> score_members(const KernelNet& network, const std::vector<std::int64_t>& members,
                                           const std::vector<GnnRow>& rows, const RowIndices& test);
// What the roofline alone says of the same rows.
[[nodiscard]] Scores score_roofline(const std::vector<GnnRow>& rows, const RowIndices& test);
void add_scores(Scores& all, const Scores& more);
// Split conformal prediction: the ceil((n+1) 0.9)-th smallest |log error|; metrics with fewer than ten rows have none.
[[nodiscard]] HalfWidths half_widths_of(const Scores& scores);

}  // namespace forerun
