// A pass as torch.compile runs it, replayed as a CUDA graph: the replay of PyTorch's own kernels times the analytic
// ratio of the two kernel lists and, where compiled networks were measured, a learned factor. Bundle kind "compiled".
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/forest.hpp"

namespace forerun {

inline constexpr const char* kCompiledName = "compiled";

// The same network on the same device, both replayed as CUDA graphs. REQUIRES: answer is a predictor's of `replay`.
struct CompiledInput {
  const PredictorInput& compiled;  // Inductor's kernels (analysis/compiled_kernels.hpp)
  const PredictorInput& replay;    // PyTorch's own
  const Estimates& answer;
  // µs of one run of each kernel, learned from operators timed alone (TreePredictor::kernel_run_us); empty: analytic.
  std::span<const double> compiled_us = {}, replay_us = {};
};

// What is answered beside the others, which follow from these.
inline constexpr std::array kCompiledMetrics = {Metric::Latency, Metric::Memory, Metric::Power};

// The replay's answer times the ratio of both kernel lists' times.
[[nodiscard]] double compiled_base(const CompiledInput& input, Metric metric);
// Features of the learned factor on it.
[[nodiscard]] const std::vector<std::string>& compiled_fact_names();
[[nodiscard]] std::vector<float> compiled_facts(const CompiledInput& input);
[[nodiscard]] const FeatureSchema& compiled_schema();

// Learned factors and the widths of the intervals.
class CompiledFactors {
 public:
  struct Factor {
    Forest trees;                                                  // log(measured / base); none: 1
    std::array<double, std::size_t(RunKind::Count)> half_width{};  // log scale, by kind of run; 0: none was measured
  };
  static Result<CompiledFactors> load(const Bundle& bundle);

  [[nodiscard]] bool knows(const PredictorInput& input) const;
  // Nullptr for a metric that was not measured.
  [[nodiscard]] const Factor* find(Metric metric) const;

 private:
  std::vector<std::string> devices_;
  std::array<Factor, kCompiledMetrics.size()> factors_;
};

// `learned`: null where no bundle is loaded.
[[nodiscard]] Answer compiled_answer(const CompiledInput& input, const CompiledFactors* learned);

// The bundle's file. Of each metric the trees and half widths, those of metrics without rows empty.
struct TrainedFactor {
  TreeNodes trees;
  std::array<double, std::size_t(RunKind::Count)> half_width{};
};
Result<std::string> make_compiled_bundle(const std::string& device,
                                         const std::array<TrainedFactor, kCompiledMetrics.size()>& factors,
                                         const std::string& provenance);

}  // namespace forerun
