// Trains our graph network on measured rows and judges the bytes that would ship, through the code that ships.
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

struct KernelTrainingOptions {
  LayerKind kind = LayerKind::Sage;
  std::int64_t width = 64;
  int layers = 2;
  double dropout = 0;
  FitOptions fit;
};

using RowIndices = std::vector<std::size_t>;  // into GnnRows::rows
using ReportEpoch = std::function<void(const EpochReport&)>;

struct TrainedKernelNet {
  std::shared_ptr<KernelNet> network;
  FitResult fit;
};

// `valid` may be empty: the last epoch is kept then. `start`: a trained network to begin with (transfer), null for none.
[[nodiscard]] Result<TrainedKernelNet> train_kernel_net(const std::vector<GnnRow>& rows, const RowIndices& train, const RowIndices& valid,
                                                        const KernelTrainingOptions& options, const ReportEpoch& report = {},
                                                        ProcessGroup* group = nullptr, KernelNet* start = nullptr);

// The learning rate a sweep finds for a fresh network on these rows.
[[nodiscard]] Result<double> find_kernel_net_rate(const std::vector<GnnRow>& rows, const RowIndices& train, const KernelTrainingOptions& options);

// The bundle of a trained network: weights rounded to 16 bits, intervals from the rows in `calibration`.
[[nodiscard]] Result<BundleWriter> write_kernel_bundle(KernelNet& network, const std::vector<GnnRow>& rows, const RowIndices& calibration,
                                                       BundleManifest manifest);

// Predicted and measured values of one metric.
struct Scored {
  std::vector<double> predicted, measured;
  RowIndices rows;
  [[nodiscard]] double mape() const;   // of measured values, in per cent
  [[nodiscard]] double rmse() const;
  [[nodiscard]] double rmspe() const;  // root mean square of the relative error, in per cent
};
// By metric: "latency_eager_ms", "latency_graph_ms", "step_ms", "memory_mb", "power_w", "energy_j"; the latter three with a
// prefix "training " for training rows.
using Scores = std::map<std::string, Scored>;
[[nodiscard]] Result<Scores> score_bundle(const Bundle& bundle, const std::vector<GnnRow>& rows, const RowIndices& test);
// What the roofline alone says of the same rows.
[[nodiscard]] Scores score_roofline(const std::vector<GnnRow>& rows, const RowIndices& test);

}  // namespace forerun
