#include "service/estimate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "predictors/roofline/parallel.hpp"
#include "predictors/roofline/roofline.hpp"
#include "service/measured.hpp"
#include "service/serving.hpp"

namespace forerun {
namespace {

Estimate interval(double value, double log_width, const char* predictor) {
  return {value, value * std::exp(-log_width), value * std::exp(log_width), Basis::Roofline, predictor};
}

}  // namespace

std::optional<std::int64_t> graph_fact(const Graph& graph, std::string_view name) {
  for (const Attribute& attribute : graph.facts) {
    if (attribute.name != name) continue;
    if (const auto* value = std::get_if<std::int64_t>(&attribute.value)) return *value;
  }
  return std::nullopt;
}

std::int64_t batch_of(const Plan& plan) {
  if (plan.workload.binding.batch) return *plan.workload.binding.batch;
  if (const auto batch = graph_fact(*plan.graph, "run_batch")) return *batch;
  for (const ValueId id : plan.graph->main().inputs) {
    const Value& input = plan.graph->values[std::size_t(id)];
    if (input.has_shape && !input.dims.empty()) return std::max<std::int64_t>(1, input.dims.front());
  }
  return 1;
}

WorkloadInfo describe_workload(const Plan& plan, const Request& request) {
  WorkloadInfo info;
  info.name = plan.graph->name.empty() ? request.model : plan.graph->name;
  info.format = plan.graph->format;
  info.batch = batch_of(plan);
  info.precision = plan.workload.precision;
  info.runtime = request.runtime;
  info.phase = Phase(
      graph_fact(*plan.graph, "run_phase").value_or(std::int64_t(request.binding.phase.value_or(Phase::Forward))));
  info.sequence = request.binding.seq;
  if (const auto sequence = graph_fact(*plan.graph, "run_sequence")) info.sequence = sequence;
  info.training = request.train;
  info.optimizer = request.optimizer;
  info.parameters = plan.totals->parameters;
  info.macs = plan.totals->macs;
  return info;
}

// One pass of the plan on the device, or on several of them: times, memory, energy.
Result<Estimator::Pass> Estimator::estimate_pass(const Plan& plan, const Request& request, const Device& device,
                                                 std::vector<std::string>& warnings) const {
  Pass pass;
  Workload workload = plan.workload;
  workload.runtime = request.runtime;
  const Parallelism parallel{request.tensor_parallel, request.pipeline_parallel, request.data_parallel};
  if (parallel.tensor == 1) {
    pass.roofline = estimate_roofline(plan, workload, device);
  } else {
    pass.roofline = estimate_roofline(share_kernels(plan.kernels, parallel.tensor), plan.memory, workload, device);
  }
  const RooflineConstants& constants = shipped_constants();
  const double latency = pass.roofline.latency_ms(request.runtime);
  const double power = pass.roofline.power_w(request.runtime);
  Estimates& e = pass.estimates;
  e["latency_ms"] = interval(latency, constants.latency_width, "roofline");
  e["memory_mb"] = interval(pass.roofline.memory.total_mb, constants.memory_width, "roofline");
  e["device_memory_mb"] = interval(pass.roofline.memory.device_total_mb, constants.memory_width, "roofline");
  e["power_w"] = interval(power, constants.power_width, "roofline");
  e["energy_j"] = interval(latency / 1e3 * power, constants.energy_width, "roofline");
  if (parallel.tensor == 1 && parallel.pipeline == 1) {
    const PredictorInput input{*plan.graph, *plan.totals, plan.kernels, workload, device, pass.roofline, plan.groups};
    FORERUN_CHECK(learned_.apply(input, request.predictor, e, warnings));
    if (request.explain) pass.effects = learned_.explain(input, e);
  } else if (!request.predictor.empty() && request.predictor != "roofline") {
    return bad_input("predictor '" + request.predictor + "' does not answer for several devices; take 'roofline'");
  }
  if (parallel.devices() > 1) {
    FORERUN_CHECK(spread_over_devices(plan, request, device, e, warnings));
  }
  return pass;
}

Result<DeviceResult> Estimator::estimate(const Plan& plan, const Request& request, const Grid& grid,
                                         const Target& target) const {
  const Device& device = target.device;
  DeviceResult result;
  result.device = device.id;
  const Precision precision = plan.workload.precision;
  result.warnings = plan.warnings;
  result.advice.region = grid.region;
  if ((precision == Precision::Fp8 && !device.peak_tflops.contains("fp8_tensor")) ||
      (precision == Precision::Int8 && peak_tflops(device, Math::Int8Tensor) == 0)) {
    result.warnings.push_back(device.id + " has no " + std::string(name_of(precision)) + " arithmetic: not estimated");
    result.advice.fits = false;
    return result;
  }
  if (const auto problem = precision_problem(device, precision)) result.warnings.push_back(*problem);
  if (plan.totals->coverage < 1.0) {
    result.warnings.push_back(
        fmt::format("coverage {:.3f}: nodes whose cost is unknown are not in the estimate", plan.totals->coverage));
  }
  FORERUN_TRY(Pass pass, estimate_pass(plan, request, device, result.warnings));
  result.estimates = std::move(pass.estimates);
  result.explanation = std::move(pass.effects);
  Estimates& e = result.estimates;
  const double batch = double(batch_of(plan)) * double(request.data_parallel);
  const Estimate time = e["latency_ms"];
  e["throughput_per_s"] = {batch * 1e3 / time.value, batch * 1e3 / time.high, batch * 1e3 / time.low, time.basis,
                           time.predictor};
  const EstimatePass other_pass = [&](const Request& other) -> Result<PassEstimate> {
    FORERUN_TRY(const std::shared_ptr<const Plan> other_plan, workspace_.plan_of(other));
    std::vector<std::string> ignored;
    FORERUN_TRY(Pass estimate, estimate_pass(*other_plan, other, device, ignored));
    return PassEstimate{estimate.estimates["latency_ms"], estimate.estimates["energy_j"],
                        estimate.estimates["device_memory_mb"]};
  };
  if (request.input_tokens || request.output_tokens || request.concurrency) {
    FORERUN_TRY(const Estimates serving, estimate_serving(request, other_pass));
    e.insert(serving.begin(), serving.end());
  }
  if (request.memory_budget_mb) {
    FORERUN_TRY(result.capacity, estimate_capacity(request, *request.memory_budget_mb, other_pass));
  }
  if (!request.store.empty()) {
    Workload workload = plan.workload;
    workload.runtime = request.runtime;
    FORERUN_TRY(result.measured, find_measured(request.store, *plan.graph, workload, device));
  }
  FORERUN_CHECK(advise(plan, request, grid, target, pass.roofline, batch, result));
  result.breakdown =
      break_down(plan, pass.roofline, pass.roofline.device_ms > 0 ? time.value / pass.roofline.device_ms : 1);
  return result;
}

}  // namespace forerun
