// The trees as a predictor: kernels summed with learned efficiencies, then per metric the log ratio to that sum or to
// the roofline, with conformal intervals that widen for networks unlike those trained on.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "features/kernel_encoding.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/kernel_power.hpp"
#include "predictors/trees/tree_input.hpp"

namespace forerun {

// 90 % half widths on the log scale. `known`: networks like those trained on; `unlike`: a family left out.
struct TreeInterval {
  double known = 0.1, unlike = 0.3;
};

// The mix of kernel classes (shares of time) of training networks, and how far a network usually is from the nearest
// other.
struct TreeFamiliarity {
  std::vector<std::array<float, kKernelClasses>> mixes;
  double usual = 0.05;    // distance that half of the training networks have
  double unusual = 0.25;  // distance that 19 of 20 stay below
};
// Half the sum of absolute differences: the share of time spent in other classes of kernels. From `most` on, no exact
// one.
[[nodiscard]] double mix_distance(const std::array<float, kKernelClasses>& a,
                                  const std::array<float, kKernelClasses>& b, double most = 1);
[[nodiscard]] double unlikeness(const TreeFamiliarity& familiarity,
                                const TreeInput& input);  // 0 = as trained on … 1 = unlike all of it

using TreeAnswers = std::array<std::optional<double>, std::size_t(RunMetric::Count)>;  // by metric

// Metrics that trees may answer, as far as they were trained for a kind of run.
inline constexpr std::array kTreeMetrics = {Metric::Latency, Metric::Memory, Metric::DeviceMemory, Metric::Energy,
                                            Metric::Power};

class TreePredictor {
 public:
  // A bundle of kind "trees". Errors: another kind, other features or roofline constants than this program's, broken
  // trees.
  static Result<TreePredictor> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const { return name_; }
  // Was this device measured? For others the kernel sum alone answers (operator_predict).
  [[nodiscard]] bool knows(const Device& device) const { return devices_.contains(device.id) && device.slice.empty(); }

  // Whether whole networks of this kind of run were measured on this device; the error speaks as predictor `name`.
  [[nodiscard]] Status covers(const PredictorInput& input, const std::string& name) const;

  // latency_ms, memory_mb, device_memory_mb, energy_j, power_w, as far as trained for this kind of run.
  [[nodiscard]] Answer predict(const PredictorInput& input) const { return predict(input, summed(input)); }
  // In two steps, so that callers can reuse the kernels' times.
  [[nodiscard]] TreeInput summed(const PredictorInput& input) const;
  [[nodiscard]] Answer predict(const PredictorInput& input, const TreeInput& summed) const;
  // The kernel sum: latency_ms on any device. A language model's forward or prefill pass is summed by kernels taught by
  // whole networks on several devices, where the bundle has them; the rest by kernels taught by operators.
  [[nodiscard]] Answer predict_by_kernels(const PredictorInput& input, const TreeInput& summed) const;
  [[nodiscard]] TreeInput summed_by_kernels(const PredictorInput& input) const;
  // For one of the metrics that predict() gave; nullopt when it has no trees.
  [[nodiscard]] std::optional<Explanation> explain(const PredictorInput& input, Metric metric) const;

  // The parts of predict(), for batches and evaluation: REQUIRES sum() first.
  void sum(TreeInput& input) const { sum_many(std::span(&input, 1)); }
  void sum_many(std::span<TreeInput> inputs) const {
    sum_kernels(inputs, kernel_forest_, known_kernels_);
    if (host_forest_) time_grouped_host(inputs, *host_forest_);
  }
  // The facts that the next one needs of this device.
  [[nodiscard]] KernelBasis basis_of(const Device& device) const {
    return transfer_.kinds.empty() || knows(device) ? KernelBasis::Measured : KernelBasis::Transfer;
  }
  // Kernels' times by the kernel forest, for graph networks. REQUIRES: the predictor outlives it. kernels_id() is the
  // same for the same answers.
  [[nodiscard]] KernelTimer kernel_timer() const;
  // The same times, of kernels that were summed already.
  [[nodiscard]] static KernelTimer kernel_timer(const PredictorInput& input, const TreeInput& summed);
  [[nodiscard]] const std::string& kernels_id() const { return kernels_id_; }
  // As predict_by_kernels() sums for a device that was not measured; sum() for one that was. REQUIRES: an input for
  // basis_of(device)
  void sum(TreeInput& input, const Workload& workload, const Device& device) const;
  [[nodiscard]] TreeAnswers answers(const TreeInput& input, const std::vector<float>& row) const {
    return answers_to(std::span(&input, 1), row)[0];
  }
  // The same to the bit for many inputs, which take each forest together: more than twice as fast.
  [[nodiscard]] std::vector<TreeAnswers> answers_many(std::span<const TreeInput> inputs) const;

 private:
  struct Model {
    Forest forest;  // none where kernel powers answer (is_drawn)
    TreeInterval interval;
    std::vector<float> lowest, highest;  // of each column in training
  };
  [[nodiscard]] std::vector<TreeAnswers> answers_to(std::span<const TreeInput> inputs,
                                                    std::span<const float> rows) const;  // rows: tree_row() of each
  [[nodiscard]] const Model* find(RunKind domain, RunMetric metric) const;
  // The pass that a drawn metric is of; nullopt where its latency was not trained.
  [[nodiscard]] static std::optional<CountedPass> pass_of(const TreeInput& input, const TreeAnswers& answers,
                                                          RunMetric metric);
  [[nodiscard]] Explanation explain_drawn(const TreeInput& input, RunMetric metric, const CountedPass& pass) const;
  [[nodiscard]] bool sums_by_networks(const TreeInput& input, const Workload& workload, const Device& device) const;

  std::string name_;
  Bundle bundle_;
  Forest kernel_forest_;
  KnownKernels known_kernels_;
  std::string kernels_id_;
  std::array<TreeInterval, 2> kernel_interval_;  // graph, eager
  TransferForest transfer_;  // kernels taught by operators, for devices that were not measured; empty in older bundles
  std::optional<Forest> power_forest_, host_forest_;
  std::optional<Forest> network_forest_;
  TreeInterval network_interval_;
  std::set<std::string> network_devices_;
  std::map<std::pair<RunKind, RunMetric>, Model> models_;
  std::map<RunKind, TreeFamiliarity> familiarity_;
  std::set<std::string> devices_;
  std::set<std::string> precisions_;

  explicit TreePredictor(Bundle bundle) : bundle_(std::move(bundle)) {}
};

}  // namespace forerun
