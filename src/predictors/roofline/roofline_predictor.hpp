// The analytic predictor: data sheet and a few fitted constants. Every other predictor starts from its answer.
#pragma once

#include "predictors/predictor.hpp"

namespace forerun {

inline constexpr const char* kRooflineName = "roofline";

// Estimates with their fitted widths, and the kernels' terms where the input asks for them.
[[nodiscard]] Answer analytic_answer(const PredictorInput& input);

class RooflinePredictor final : public Predictor {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<Metric> metrics() const override;
  [[nodiscard]] Status covers(const PredictorInput&) const override { return ok(); }
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override { return analytic_answer(input); }

 private:
  std::string name_ = kRooflineName;
};

}  // namespace forerun
