// A pass as torch.compile runs it: what is refused, and its answer from that of a graph replay.
#include "predictors/compiled/compiled_pass.hpp"
#include "predictors/kernel_times.hpp"
#include "service/estimate.hpp"

namespace forerun {

Status check_compiled(const Plan& plan, const Request& request) {
  const auto refuse = [](const char* why) { return bad_input(std::string("--runtime compiled: ") + why); };
  if (request.train) return refuse("training steps are not estimated compiled yet; take eager");
  if (request.parallel.cluster) return refuse("of one device; several run as --runtime graph");
  if (plan.workload.precision > Precision::AmpBf16 && plan.workload.precision != Precision::AmpFp16)
    return refuse("torch.compile runs fp32, tf32, fp16 and bf16; quantised weights are an engine's (--runtime engine)");
  if (plan.graph->written_run && plan.graph->written_run->phase == Phase::Decode)
    return refuse("a decode step is an engine's (--runtime engine) or a replay's (--runtime graph)");
  return ok();
}

Result<Estimator::Pass> Estimator::predict_compiled(const Plan& plan, const Request& request,
                                                    const Device& device) const {
  Request as_replay = request;
  as_replay.runtime = Runtime::Graph;
  FORERUN_TRY(const std::shared_ptr<const Plan> replay, workspace_.plan_of(as_replay));
  FORERUN_TRY(Pass before, predict_plan(*replay, as_replay, device, false));
  Workload workload = replay->workload;
  workload.runtime = Runtime::Graph;
  Pass pass;
  pass.roofline = estimate_roofline(plan, plan.workload, device, request.cancel);
  const PredictorInput own{*plan.graph, *plan.totals,  plan.kernels, plan.workload, device, pass.roofline,
                           plan.groups, plan.group_of, {},           request.cancel};
  const PredictorInput other{*replay->graph,  *replay->totals, replay->kernels,  workload, device,
                             before.roofline, replay->groups,  replay->group_of, {},       request.cancel};
  CompiledInput input{own, other, before.answer.estimates};
  std::vector<double> own_us, replay_us;
  if (predictors_.trees() != nullptr && predictors_.is_measured(other)) {
    input.compiled_us = own_us = predictors_.trees()->kernel_run_us(plan.kernels, device);
    input.replay_us = replay_us = predictors_.trees()->kernel_run_us(replay->kernels, device);
  }
  pass.answer = compiled_answer(input, predictors_.compiled());
  std::vector<std::string>& warnings = pass.answer.warnings;
  warnings.insert(warnings.end(), before.answer.warnings.begin(), before.answer.warnings.end());
  fit_kernels_to_latency(own, pass.answer);
  return pass;
}

}  // namespace forerun
