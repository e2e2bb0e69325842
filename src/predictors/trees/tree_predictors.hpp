// The two predictors made of one bundle of trees: whole networks on devices that were measured, and the sum over
// learned kernels on any device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "predictors/predictor.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {

inline constexpr const char* kKernelSumName = "kernels";

// Sets each kernel's time to its share of its group's; the difference to the analytic terms goes to `learned`. Does
// nothing where the answer holds no kernels.
void set_kernel_times(const PredictorInput& input, std::span<const double> group_us, Answer& answer);

class MeasuredTrees final : public Predictor {
 public:
  explicit MeasuredTrees(std::shared_ptr<const TreePredictor> trees) : trees_(std::move(trees)) {}
  [[nodiscard]] const std::string& name() const override { return trees_->name(); }
  [[nodiscard]] std::vector<Metric> metrics() const override { return {kTreeMetrics.begin(), kTreeMetrics.end()}; }
  [[nodiscard]] Status covers(const PredictorInput& input) const override;
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;
  [[nodiscard]] std::vector<FeatureEffect> explain(const PredictorInput& input, const Answer& answer) const override;

 private:
  std::shared_ptr<const TreePredictor> trees_;
};

class KernelSum final : public Predictor {
 public:
  explicit KernelSum(std::shared_ptr<const TreePredictor> trees) : trees_(std::move(trees)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<Metric> metrics() const override { return {Metric::Latency, Metric::Energy}; }
  [[nodiscard]] Status covers(const PredictorInput&) const override { return ok(); }
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;

 private:
  std::shared_ptr<const TreePredictor> trees_;
  std::string name_ = kKernelSumName;
};

// The largest contributions to a metric.
[[nodiscard]] std::vector<FeatureEffect> largest_effects(const Explanation& explanation, Metric metric);

}  // namespace forerun
