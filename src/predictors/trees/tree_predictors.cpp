#include "predictors/trees/tree_predictors.hpp"

#include <algorithm>

#include "predictors/roofline/roofline_predictor.hpp"

namespace forerun {
namespace {

constexpr std::size_t kShownEffects = 10;

// On devices that were not measured, learning corrects the analytic kernel model instead of the roofline.
void start_from_physics(const PredictorInput& input, const TreeInput& summed, Answer& answer) {
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    const std::uint32_t group = input.group_of[i];
    answer.kernels[i] = scaled(summed.physics_terms[group], input.kernels[i].runs / input.groups[group].runs);
  }
}

}  // namespace

void set_kernel_times(const PredictorInput& input, std::span<const double> group_us, Answer& answer) {
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    const std::uint32_t group = input.group_of[i];
    const double us = group_us[group] * input.kernels[i].runs / input.groups[group].runs;
    answer.kernels[i].learned += us - answer.kernels[i].total();
  }
}

std::vector<FeatureEffect> largest_effects(const Explanation& explanation, Metric metric) {
  std::vector<FeatureEffect> effects;
  for (std::size_t i = 0; i < std::min(kShownEffects, explanation.contributions.size()); ++i)
    effects.push_back({metric, explanation.contributions[i]});
  return effects;
}

Status MeasuredTrees::covers(const PredictorInput& input) const { return trees_->covers(input, name()); }

Result<Answer> MeasuredTrees::predict(const PredictorInput& input) const {
  const TreeInput summed = trees_->summed(input);
  Answer answer = analytic_answer(input);
  Answer found = trees_->predict(input, summed);
  answer.estimates.set_all(found.estimates);
  answer.warnings = std::move(found.warnings);
  set_kernel_times(input, summed.kernel_us, answer);
  return answer;
}

std::vector<FeatureEffect> MeasuredTrees::explain(const PredictorInput& input, const Answer& answer) const {
  std::vector<FeatureEffect> effects;
  for (const auto& [metric, estimate] : answer.estimates) {
    if (estimate.predictor != name()) continue;
    const auto explanation = trees_->explain(input, metric);
    if (!explanation) continue;
    const std::vector<FeatureEffect> largest = largest_effects(*explanation, metric);
    effects.insert(effects.end(), largest.begin(), largest.end());
  }
  return effects;
}

Result<Answer> KernelSum::predict(const PredictorInput& input) const {
  const TreeInput summed = trees_->summed_by_kernels(input);
  Answer answer = analytic_answer(input);
  Answer found = trees_->predict_by_kernels(input, summed);
  const double before_ms = answer.estimates.at(Metric::Latency).value;
  answer.estimates.set_all(found.estimates);
  // Power stays analytic; energy is power times the learned latency.
  scale(answer.estimates.at(Metric::Energy), answer.estimates.at(Metric::Latency).value / before_ms);
  answer.warnings = std::move(found.warnings);
  if (!summed.physics_terms.empty()) start_from_physics(input, summed, answer);
  set_kernel_times(input, summed.kernel_us, answer);
  return answer;
}

}  // namespace forerun
