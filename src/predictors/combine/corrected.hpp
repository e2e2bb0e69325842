// Few-shot correction: another predictor's answers, corrected by a few measurements of the user (`forerun-lab adapt`).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "predictors/predictor.hpp"
#include "predictors/trees/correction.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {

class CorrectedPredictor final : public Predictor {
 public:
  // REQUIRES: `inner` outlives it. The corrections' features come from `trees`' kernel sums.
  CorrectedPredictor(const Predictor& inner, std::shared_ptr<const TreePredictor> trees,
                     std::vector<std::shared_ptr<const DeviceCorrection>> corrections)
      : inner_(inner), trees_(std::move(trees)), corrections_(std::move(corrections)) {}
  [[nodiscard]] const std::string& name() const override { return inner_.name(); }
  [[nodiscard]] std::vector<Metric> metrics() const override { return inner_.metrics(); }
  [[nodiscard]] Status covers(const PredictorInput& input) const override { return inner_.covers(input); }
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;
  // The inner predictor's explanation, and the factor that the measurements put on it.
  [[nodiscard]] std::vector<FeatureEffect> explain(const PredictorInput& input, const Answer& answer) const override;

 private:
  const Predictor& inner_;
  std::shared_ptr<const TreePredictor> trees_;
  std::vector<std::shared_ptr<const DeviceCorrection>> corrections_;
};

}  // namespace forerun
