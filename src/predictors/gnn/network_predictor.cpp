#include "predictors/gnn/network_predictor.hpp"

#include "predictors/roofline/roofline_predictor.hpp"

namespace forerun {

KernelTensors encode_kernels(const PredictorInput& input, std::span<const double> run_us) {
  RooflineEstimate roofline = input.roofline;
  roofline.host_ms = input.host.of(roofline.host_ms);
  return encode_kernels(input.graph, input.totals, input.kernels, roofline, input.device, input.workload, run_us);
}

void set_node_times(const PredictorInput& input, const KernelTensors& tensors, const GnnAnswer& found, Answer& answer) {
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    const auto node = std::size_t(tensors.node_of[i]);
    const double us = 1e3 * found.kernel_ms[node] * input.kernels[i].runs / tensors.runs[node];
    answer.kernels[i].learned += us - answer.kernels[i].total();
  }
}

Status NetworkPredictor::covers(const PredictorInput& input) const {
  const RunKind kind = run_kind_of(input.graph, input.workload);
  if (network_->was_judged_on(kind, input.workload)) return ok();
  return bad_input("predictor '" + name() + "' was not trained on runs of kind " + std::string(name_of(kind)) +
                   "; use 'kernels' or 'roofline'");
}

Result<Answer> NetworkPredictor::predict(const PredictorInput& input) const {
  const KernelTensors tensors = encode_kernels(input, trees_->kernel_run_us(input.kernels, input.device));
  FORERUN_TRY(const GnnAnswer found, network_->answer(tensors, input.cancel));
  Answer answer = analytic_answer(input);
  Answer own = network_->predict(found, run_kind_of(input.graph, input.workload), input.workload, input.device);
  answer.estimates.set_all(own.estimates);
  answer.warnings = std::move(own.warnings);
  set_node_times(input, tensors, found, answer);
  return answer;
}

}  // namespace forerun
