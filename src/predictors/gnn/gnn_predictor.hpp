// The graph network as a predictor. Per kernel it predicts the ratio to the roofline time, the host time and the power;
// these are summed to latency and mean power of a pass. Memory is a ratio to the roofline's. Definition of the heads:
// docs/method/graph-network.md.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "features/kernel_encoding.hpp"
#include "predictors/gnn/engine.hpp"
#include "predictors/pass_power.hpp"
#include "predictors/predictor.hpp"
#include "records/run_kind.hpp"

namespace forerun {

inline constexpr std::int64_t kGnnNodeHeads = 3;  // log-ratio of device time, of host time, of power while it runs
inline constexpr std::int64_t kGnnGraphHeads =
    4;  // log-ratio of memory; corrections of the kernels' power, of graph and of eager latency
inline constexpr double kGnnOverlapPower = 4;  // eager latency = (device^p + host^p)^(1/p)
inline constexpr std::array kGnnMetrics = {Metric::Latency, Metric::Memory, Metric::Power, Metric::Energy};
inline constexpr float kGnnLogLimit = 4;  // log-ratios are kept within ±4

// Predictions for one pass or step of a workload: the geometric mean over the networks of a bundle.
struct GnnAnswer {
  double eager_ms = 0, graph_ms = 0;  // latency under each runtime; eager is the step's time in training
  double memory_mb = 0, busy_w = 0;   // busy: mean power while the kernels run
  double device_ms = 0, host_ms = 0;
  [[nodiscard]] double latency_ms(Runtime runtime) const { return runtime == Runtime::Graph ? graph_ms : eager_ms; }
  std::vector<double> kernel_ms;  // device time of each node, which stands for all equal kernels

  [[nodiscard]] double power_w(Runtime runtime, const CountedAs& counted = {}) const;
  [[nodiscard]] double energy_j(Runtime runtime, const CountedAs& counted = {}) const;
  [[nodiscard]] double value_of(Metric metric, Runtime runtime, const CountedAs& counted) const;
};

class GnnPredictor {
 public:
  // Errors: a bundle of another kind, trained with other features, or with a network of unexpected shape.
  static Result<GnnPredictor> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Metric>& metrics() const { return metrics_; }
  // TreePredictor::kernels_id() of the trees whose kernel times are its inputs; empty: roofline times.
  [[nodiscard]] const std::string& kernels_id() const { return kernels_id_; }
  // REQUIRES: `tensors` from encode_kernels() with those times
  [[nodiscard]] Result<GnnAnswer> answer(const KernelTensors& tensors) const;
  // The bundle's metrics with 90 % intervals. A device whose networks were not measured is named in the warnings.
  [[nodiscard]] Answer predict(const GnnAnswer& found, RunKind kind, const Workload& workload,
                               const Device& device) const;
  // Whether the bundle has intervals for this kind of run. REQUIRED for predict() to give estimates.
  [[nodiscard]] bool was_judged_on(RunKind kind, const Workload& workload) const;
  // Width of the 90 % interval of the mean with the trees, relative to the trees' alone, on the log scale; 1 where it
  // was not evaluated.
  [[nodiscard]] double average_width(Metric metric, RunKind kind, const Workload& workload) const;
  // Many at once on `threads` cores (0: all of them); answers in the order of the inputs.
  [[nodiscard]] std::vector<Result<GnnAnswer>> answer_many(std::span<const KernelTensors* const> inputs,
                                                           unsigned threads = 0) const;

 private:
  explicit GnnPredictor(GnnEngine engine) : engine_(std::move(engine)) {}
  GnnEngine engine_;
  std::size_t members_ = 1;  // networks in the bundle
  std::string name_, kernels_id_;
  std::vector<Metric> metrics_;
  std::set<std::string> devices_;  // whose networks were measured
  using Widths =
      std::map<std::string, double, std::less<>>;  // by kind of run and metric as evaluated ("llm latency_graph_ms", …)
  static Result<Widths> read_widths(const Bundle& bundle, std::string_view text);
  Widths half_widths_, average_widths_;
};

}  // namespace forerun
