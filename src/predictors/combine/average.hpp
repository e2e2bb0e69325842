// The geometric mean of the trees' and the graph network's answers, closer than either alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {

inline constexpr const char* kAverageName = "average";

class AveragePredictor final : public Predictor {
 public:
  // `only`: metrics that are averaged; the others are the trees'. The interval is that of the trees, scaled by how much
  // more accurate the mean is in evaluation.
  AveragePredictor(std::shared_ptr<const TreePredictor> trees, std::shared_ptr<const GnnPredictor> network,
                   std::vector<Metric> only)
      : trees_(std::move(trees)), network_(std::move(network)), only_(std::move(only)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<Metric> metrics() const override { return only_; }
  [[nodiscard]] Status covers(const PredictorInput& input) const override;
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;
  [[nodiscard]] std::vector<FeatureEffect> explain(const PredictorInput& input, const Answer& answer) const override;

 private:
  std::shared_ptr<const TreePredictor> trees_;
  std::shared_ptr<const GnnPredictor> network_;
  std::vector<Metric> only_;
  std::string name_ = kAverageName;
};

}  // namespace forerun
