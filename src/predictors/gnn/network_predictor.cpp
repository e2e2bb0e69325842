#include "predictors/gnn/network_predictor.hpp"

#include "predictors/roofline/roofline_predictor.hpp"

namespace forerun {

KernelTensors encode_kernels(const PredictorInput& input, const KernelTimer& timer) {
  return encode_kernels(input.graph, input.totals, input.kernels, input.roofline, input.device, input.workload, timer);
}

void set_node_times(const PredictorInput& input, const KernelTensors& tensors, const GnnAnswer& found, Answer& answer) {
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    const auto node = std::size_t(tensors.node_of[i]);
    const double us = 1e3 * found.kernel_ms[node] * input.kernels[i].runs / tensors.runs[node];
    answer.kernels[i].learned += us - answer.kernels[i].total();
  }
}

Result<Answer> NetworkPredictor::predict(const PredictorInput& input) const {
  const KernelTensors tensors = encode_kernels(input, trees_->kernel_timer());
  FORERUN_TRY(const GnnAnswer found, network_->answer(tensors));
  Answer answer = analytic_answer(input);
  Answer own = network_->predict(found, input.workload, input.device);
  answer.estimates.set_all(own.estimates);
  answer.warnings = std::move(own.warnings);
  set_node_times(input, tensors, found, answer);
  return answer;
}

}  // namespace forerun
