// The trees as a predictor: kernels summed with learned efficiencies, then per metric the log ratio to that sum or to
// the roofline, with conformal intervals that widen for networks outside the training distribution.
#pragma once

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

// 90 % half widths on the log scale. `known`: for networks similar to training networks; `unfamiliar`: from
// leave-one-family-out, for networks that differ from all of them.
struct TreeInterval {
  double known = 0.1, unfamiliar = 0.3;
};

// Time shares of kernel classes of the training networks, and the usual distance of a network to its nearest neighbour.
struct TreeFamiliarity {
  std::vector<std::array<float, kKernelClasses>> mixes;
  double usual = 0.05;    // median of the distances
  double unusual = 0.25;  // 95th percentile of the distances
};
// Total variation distance: the share of time spent in other kernel classes. Not exact from `most` upwards.
[[nodiscard]] double mix_distance(const std::array<float, kKernelClasses>& a,
                                  const std::array<float, kKernelClasses>& b, double most = 1);
[[nodiscard]] double unfamiliarity(
    const TreeFamiliarity& familiarity,
    const TreeInput& input);  // 0: as in training, 1: differs from every training network

using TreeAnswers = std::array<std::optional<double>, std::size_t(RunMetric::Count)>;  // by metric

// Metrics that trees may answer, as far as they were trained for a kind of run.
inline constexpr std::array kTreeMetrics = {Metric::Latency, Metric::Memory, Metric::DeviceMemory, Metric::Energy,
                                            Metric::Power};

class TreePredictor {
 public:
  // A bundle of kind "trees". Errors: another kind of bundle, other features or roofline constants than this program's,
  // invalid trees.
  static Result<TreePredictor> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::set<std::string>& devices() const { return devices_; }  // that networks were measured on
  // Whether networks were measured on this device. For others only the kernel sum answers (predict_by_kernels).
  [[nodiscard]] bool knows(const Device& device) const { return devices_.contains(device.id) && device.slice.empty(); }

  // Whether whole networks of this kind of run were measured on this device; the error names the predictor `name`.
  [[nodiscard]] Status covers(const PredictorInput& input, const std::string& name) const;

  // latency_ms, memory_mb, device_memory_mb, energy_j, power_w, as far as trained for this kind of run.
  [[nodiscard]] Answer predict(const PredictorInput& input) const { return predict(input, summed(input)); }
  // The inputs on the host asked about, energy and power of the passes alone; sum() comes next.
  [[nodiscard]] static TreeInput input_of(const PredictorInput& input, KernelBasis basis);
  // Split so that callers can reuse kernel times.
  [[nodiscard]] TreeInput summed(const PredictorInput& input) const;
  [[nodiscard]] Answer predict(const PredictorInput& input, const TreeInput& summed) const;
  // The kernel sum: latency_ms on any device. For LLM prefill and forward passes, kernel times are learned from whole
  // networks on several devices, where the bundle has them; otherwise from measured operators.
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
  // The kernel facts that sum() needs for this device.
  [[nodiscard]] KernelBasis basis_of(const Device& device) const {
    return transfer_.kinds.empty() || knows(device) ? KernelBasis::Measured : KernelBasis::Transfer;
  }
  // µs of one run of each kernel by the kernel forest, as input of graph networks; equal kernels_id() means equal
  // times.
  [[nodiscard]] std::vector<double> kernel_run_us(std::span<const Kernel> kernels, const Device& device) const;
  // The same times for kernels that were summed already.
  [[nodiscard]] static std::vector<double> kernel_run_us(const PredictorInput& input, const TreeInput& summed);
  [[nodiscard]] const std::string& kernels_id() const { return kernels_id_; }
  // Sums kernels as predict_by_kernels() does on this device. REQUIRES: an input made with basis_of(device)
  void sum(TreeInput& input, const Workload& workload, const Device& device) const;
  [[nodiscard]] TreeAnswers answers(const TreeInput& input, const std::vector<float>& row) const {
    return answers_to(std::span(&input, 1), row)[0];
  }
  // Bit-identical answers for many inputs as one batch: more than twice as fast.
  [[nodiscard]] std::vector<TreeAnswers> answers_many(std::span<const TreeInput> inputs) const;

 private:
  struct Model {
    Forest forest;  // none where kernel powers answer (energy and power)
    TreeInterval interval;
    std::vector<float> lowest, highest;  // of each column in training
  };
  // The parts of load(). REQUIRES: the caller catches the exceptions of the JSON library.
  [[nodiscard]] Status load_kernel_forests(const nlohmann::json& json);
  [[nodiscard]] Status load_models(const nlohmann::json& json);
  [[nodiscard]] Status load_familiarity(const nlohmann::json& json);
  [[nodiscard]] std::vector<TreeAnswers> answers_to(std::span<const TreeInput> inputs,
                                                    std::span<const float> rows) const;  // rows: tree_row() of each
  [[nodiscard]] const Model* find(RunKind domain, RunMetric metric) const;
  // The pass of an energy or power metric; nullopt where its latency was not trained.
  [[nodiscard]] static std::optional<CountedPass> pass_of(const TreeInput& input, const TreeAnswers& answers,
                                                          RunMetric metric);
  [[nodiscard]] Explanation explain_power(const TreeInput& input, RunMetric metric, const CountedPass& pass) const;
  [[nodiscard]] bool sums_by_networks(const TreeInput& input, const Workload& workload, const Device& device) const;

  std::string name_;
  Bundle bundle_;
  Forest kernel_forest_;
  KnownKernels known_kernels_;
  std::string kernels_id_;
  std::array<TreeInterval, 2> kernel_interval_;  // graph, eager
  TransferForest
      transfer_;  // trained on measured operators, for devices that were not measured; empty in older bundles
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
