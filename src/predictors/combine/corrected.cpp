#include "predictors/combine/corrected.hpp"

namespace forerun {

Result<Answer> CorrectedPredictor::predict(const PredictorInput& input) const {
  FORERUN_TRY(Answer answer, inner_.predict(input));
  for (const auto& correction : corrections_) {
    const TreeInput facts = trees_->summed_by_kernels(input);
    if (correction->apply(input.workload, facts, answer.estimates))
      answer.warnings.push_back("corrected by measurements on " + correction->device() + " (" + correction->name() +
                                ")");
  }
  return answer;
}

std::vector<FeatureEffect> CorrectedPredictor::explain(const PredictorInput& input, const Answer& answer) const {
  const Result<Answer> inner = inner_.predict(input);
  if (!inner) return {};
  std::vector<FeatureEffect> effects;
  for (const auto& [metric, estimate] : answer.estimates) {
    const Estimate* before = inner->estimates.find(metric);
    if (before != nullptr && before->predictor != estimate.predictor)
      effects.push_back({metric, {"measurements", 1, estimate.value / before->value}});
  }
  const std::vector<FeatureEffect> others = inner_.explain(input, *inner);
  effects.insert(effects.end(), others.begin(), others.end());
  return effects;
}

}  // namespace forerun
