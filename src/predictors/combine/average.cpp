#include "predictors/combine/average.hpp"

#include <algorithm>
#include <cmath>

#include "predictors/gnn/network_predictor.hpp"
#include "predictors/roofline/roofline_predictor.hpp"
#include "predictors/trees/tree_predictors.hpp"

namespace forerun {

Status AveragePredictor::covers(const PredictorInput& input) const { return trees_->covers(input, name_); }

Result<Answer> AveragePredictor::predict(const PredictorInput& input) const {
  const TreeInput summed = trees_->summed(input);
  const KernelTensors tensors = encode_kernels(input, TreePredictor::kernel_run_us(input, summed));
  FORERUN_TRY(const GnnAnswer found, network_->answer(tensors));
  const Answer other = network_->predict(found, summed.domain, input.workload, input.device);
  Answer joined = trees_->predict(input, summed);
  for (auto& [metric, estimate] : joined.estimates) {
    const Estimate* second = other.estimates.find(metric);
    if (second == nullptr || std::find(only_.begin(), only_.end(), metric) == only_.end()) continue;
    const double width = network_->average_width(metric, summed.domain, input.workload);
    estimate.low = estimate.value * std::pow(estimate.low / estimate.value, width);
    estimate.high = estimate.value * std::pow(estimate.high / estimate.value, width);
    scale(estimate, std::sqrt(second->value / estimate.value));
    estimate.predictor = name_;
  }
  Answer answer = analytic_answer(input);
  answer.estimates.set_all(joined.estimates);
  answer.warnings = std::move(joined.warnings);
  // A kernel's time is the geometric mean of both predictors' times, like the latency.
  Answer by_network = answer;
  set_kernel_times(input, summed.kernel_us, answer);
  set_node_times(input, tensors, found, by_network);
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    const double tree_us = answer.kernels[i].total(), network_us = by_network.kernels[i].total();
    answer.kernels[i].learned += std::sqrt(std::max(0.0, tree_us * network_us)) - tree_us;
  }
  return answer;
}

std::vector<FeatureEffect> AveragePredictor::explain(const PredictorInput& input, const Answer& answer) const {
  std::vector<FeatureEffect> effects;
  for (const auto& [metric, estimate] : answer.estimates) {
    if (estimate.predictor != name_ && estimate.predictor != trees_->name()) continue;
    const auto explanation = trees_->explain(input, metric);
    if (!explanation) continue;
    if (estimate.predictor == name_) {  // the graph network's effect on the trees' answer
      double by_trees = explanation->base;
      for (const Contribution& c : explanation->contributions) by_trees *= c.factor;
      effects.push_back({metric, {"graph_network", 1, estimate.value / by_trees}});
    }
    const std::vector<FeatureEffect> largest = largest_effects(*explanation, metric);
    effects.insert(effects.end(), largest.begin(), largest.end());
  }
  return effects;
}

}  // namespace forerun
