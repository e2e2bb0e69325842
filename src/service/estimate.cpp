#include "service/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "predictors/kernel_times.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/roofline/roofline_predictor.hpp"
#include "service/measured.hpp"
#include "serving/capacity.hpp"

namespace forerun {
namespace {

void warn_once(DeviceResult& result, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (std::find(result.warnings.begin(), result.warnings.end(), warning) == result.warnings.end())
      result.warnings.push_back(warning);
  }
}

// Samples of one pass on all devices: copies that cannot share a batch evenly leave some of them waiting.
double samples_per_pass(const Plan& plan, const Request& request) {
  return request.parallel.cluster && request.whole_batch ? double(*request.whole_batch)
                                                         : double(batch_of(plan) * request.parallel.degrees.data);
}

// What a simulated load comes to, as estimates. `ttft_ms` and `loaded_ttft_ms` are the same number since the load is
// simulated.
void add_serving(const ServingReport& report, DeviceResult& result) {
  const auto set = [&](Metric metric, std::string_view key) {
    for (const ServingMetric& m : report.metrics) {
      if (m.key == key && m.value > 0)
        result.estimates.set(metric, {m.value, m.low, m.high, Basis::Roofline, kRooflineName});
    }
  };
  set(Metric::Ttft, "ttft_ms");
  set(Metric::Tpot, "tpot_ms");
  set(Metric::LoadedTtft, "ttft_ms");
  set(Metric::LoadedTpot, "tpot_ms");
  set(Metric::RequestLatency, "request_latency_ms");
  set(Metric::TokenRate, "tokens_per_s");
  set(Metric::EnergyPerToken, "energy_per_token_j");
  constexpr double kMemoryWidth = 1.15;
  result.estimates.set(Metric::ServingMemory, {report.needed_mb, report.needed_mb / kMemoryWidth,
                                               report.needed_mb * kMemoryWidth, Basis::Roofline, kRooflineName});
}

// Whether the device supports the precision; if not, a warning gives the reason.
bool can_compute(const Device& device, Precision precision, DeviceResult& result) {
  if ((precision == Precision::Fp8 && !device.peak_tflops.contains("fp8_tensor")) ||
      (precision == Precision::Int8 && peak_tflops(device, Math::Int8Tensor) == 0)) {
    result.warnings.push_back(device.id + " has no " + std::string(name_of(precision)) + " arithmetic: not estimated");
    result.advice.fits = false;
    return false;
  }
  if (const auto problem = precision_problem(device, precision)) result.warnings.push_back(*problem);
  return true;
}

// What no board does, whatever a predictor extrapolates to: mean power above its limit, more energy than that limit
// gives in the time, a process that holds less than its allocator.
void keep_within_board(const Device& device, Estimates& estimates) {
  if (Estimate* power = estimates.find(Metric::Power); power != nullptr && device.power_limit_w > 0) {
    Estimate* energy = estimates.find(Metric::Energy);
    if (energy != nullptr && power->value > device.power_limit_w) scale(*energy, device.power_limit_w / power->value);
    for (double* end : {&power->value, &power->low, &power->high}) *end = std::min(*end, device.power_limit_w);
  }
  // Analytic energy beside a latency that another predictor found shorter.
  const Estimate* latency = estimates.find(Metric::Latency);
  if (Estimate* energy = estimates.find(Metric::Energy);
      energy != nullptr && latency != nullptr && energy->basis == Basis::Roofline && latency->value > 0) {
    const double most_j = device.power_limit_w * latency->value / 1e3;
    if (energy->value > most_j && most_j > 0) scale(*energy, most_j / energy->value);
  }
  const Estimate* memory = estimates.find(Metric::Memory);
  Estimate* process = estimates.find(Metric::DeviceMemory);
  if (memory != nullptr && process != nullptr && process->value < memory->value)
    scale(*process, memory->value / process->value);
}

void add_throughput(double samples, Estimates& estimates) {
  const Estimate& time = estimates.at(Metric::Latency);
  estimates.set(Metric::Throughput, {samples * 1e3 / time.value, samples * 1e3 / time.high, samples * 1e3 / time.low,
                                     time.basis, time.predictor});
}

// Why a pass has no latency, or nullopt.
std::optional<std::string> nothing_to_time(const Plan& plan, double latency_ms) {
  if (plan.totals->coverage <= 0) return "no latency: the cost of none of its operators is known";
  if (plan.kernels.empty() || !(latency_ms > 0)) return "no latency: nothing of it runs on the device";
  return std::nullopt;
}

// Without a latency there are neither rates nor costs; memory is known.
void keep_memory_alone(DeviceResult& result) {
  Estimates kept;
  for (const Metric metric : {Metric::Memory, Metric::DeviceMemory}) {
    const Estimate* estimate = result.estimates.find(metric);
    if (estimate != nullptr && estimate->value > 0) kept.set(metric, *estimate);
  }
  result.estimates = std::move(kept);
}

}  // namespace

double host_share(const Answer& answer) {
  KernelTerms sum;
  for (const KernelTerms& terms : answer.kernels) add(sum, terms);
  return sum.total() > 0 ? sum.host / sum.total() : 0;
}

Result<Estimator::Pass> Estimator::predict_plan(const Plan& plan, const Request& request, const Device& device,
                                                bool explain) const {
  if (runtime_of(request) == Runtime::Compiled && request.predictor != kRooflineName) {
    FORERUN_TRY(Pass compiled, predict_compiled(plan, request, device));
    keep_within_board(device, compiled.answer.estimates);
    return compiled;
  }
  Workload workload = plan.workload;
  workload.runtime = runtime_of(request);
  Pass pass;
  pass.roofline = estimate_roofline(plan, workload, device, request.cancel);
  FORERUN_CHECK(request.cancel.check());
  PredictorInput input{*plan.graph,   *plan.totals, plan.kernels,  workload, device,
                       pass.roofline, plan.groups,  plan.group_of, {},       request.cancel};
  std::string wanted = request.predictor;
  // Learned predictors know frameworks' kernels, and on some devices only: an engine's are asked of one everywhere.
  if (wanted.empty() && request.in_engine) wanted = kRooflineName;
  FORERUN_TRY(input.host, host_of(plan, request, input, wanted));
  FORERUN_TRY(const Predictor* predictor, predictors_.pick(input, wanted));
  FORERUN_TRY(pass.answer, predictor->predict(input));
  FORERUN_CHECK(request.cancel.check());
  keep_within_board(device, pass.answer.estimates);
  std::vector<std::string>& warnings = pass.answer.warnings;
  if (wanted != kRooflineName && !plan.kernels.empty()) {
    for (const std::string& problem : predictors_.problems())
      warnings.push_back("a learned predictor cannot be used: " + problem);
  }
  if (explain) pass.effects = predictor->explain(input, pass.answer);
  fit_kernels_to_latency(input, pass.answer);
  return pass;
}

Result<HostPart> Estimator::host_of(const Plan& plan, const Request& request, const PredictorInput& input,
                                    std::string_view predictor) const {
  HostPart host;
  if (input.workload.runtime != Runtime::Eager) return host;  // nothing waits for it
  host.time = reference_host().time[std::size_t(run_kind_of(input.graph, input.workload))];
  const double speed = request.host_speed.value_or(1);
  const bool can_be_learned =
      predictor != kRooflineName && measured_ != nullptr && !plan.kernels.empty() && !predictors_.is_measured(input);
  if (can_be_learned) {
    const std::scoped_lock lock(plan.host->mutex);
    if (!plan.host->part) {
      const RooflineEstimate roofline = estimate_roofline(plan, input.workload, *measured_, request.cancel);
      const PredictorInput there{*plan.graph, *plan.totals, plan.kernels,  input.workload, *measured_,
                                 roofline,    plan.groups,  plan.group_of, host,           request.cancel};
      if (!predictors_.is_measured(there)) {
        plan.host->part = host;
      } else {
        FORERUN_TRY(const HostPart learned, predictors_.learned_host(there));
        FORERUN_CHECK(request.cancel.check());
        plan.host->part = learned;
      }
    }
    host = *plan.host->part;
  }
  host.time /= speed;
  host.learned_ms /= speed;
  return host;
}

Result<Estimator::Pass> Estimator::estimate_pass(const Plan& plan, const Request& request, const Device& device,
                                                 bool explain) const {
  return request.parallel.cluster ? estimate_ranks(request, device, explain)
                                  : predict_plan(plan, request, device, explain);
}

Result<double> Estimator::memory_of_other_mb(const Request& request, const Binding& binding,
                                             const Device& device) const {
  Request other = request;
  other.binding = binding;
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, workspace_.plan_of(other));
  FORERUN_TRY(const Pass pass, estimate_pass(*plan, other, device, false));
  return pass.answer.estimates.at(Metric::DeviceMemory).value;
}

Status Estimator::add_capacity(const Request& request, const Device& device, DeviceResult& result) const {
  const auto search = [&](const char* name, std::int64_t most, std::optional<std::int64_t> Binding::*size) -> Status {
    CapacitySearch trials(most);
    Binding binding = request.binding;
    while (const auto number = trials.next()) {
      binding.*size = *number;
      const Result<double> pass = memory_of_other_mb(request, binding, device);
      FORERUN_CHECK(request.cancel.check());
      if (!pass && size == &Binding::batch) {  // a file that cannot run another batch than its own
        result.warnings.push_back(std::string(name) + " is not known: " + pass.error().message);
        return ok();
      }
      if (!pass) return pass.error();
      trials.report(*pass <= *request.memory_budget_mb);
    }
    result.capacity[name] = double(trials.result());
    if (trials.result() >= most)
      result.warnings.push_back(fmt::format("{}: {} is the largest number tried; more may fit", name, most));
    return ok();
  };
  FORERUN_CHECK(search("largest_batch", kMostBatch, &Binding::batch));
  if (request.binding.seq || request.binding.phase)
    FORERUN_CHECK(search("longest_sequence", kMostTokens, &Binding::seq));
  return ok();
}

Status Estimator::add_advice(const Plan& plan, const Request& request, const Grid& grid, const Target& target,
                             const Pass& pass, double batch, DeviceResult& result) const {
  const double devices = result.serving ? result.serving->devices : double(request.parallel.degrees.devices());
  const bool may_slice = devices == 1 && !pass.parallel;
  std::vector<double> slice_latency_ms;
  if (may_slice) {
    // A slice's latency is the card's, scaled by the roofline's ratio; never below the card's.
    Workload workload = plan.workload;
    workload.runtime = runtime_of(request);
    const double card_ms = result.estimates.at(Metric::Latency).value;
    const double roofline_ms = pass.roofline.latency_ms(workload.runtime);
    const double factor = roofline_ms > 0 ? card_ms / roofline_ms : 1;
    for (const MigSlice& slice : target.slices) {
      FORERUN_CHECK(request.cancel.check());
      const RooflineEstimate on_slice = estimate_roofline(plan.distinct_kernels, plan.memory, workload, slice.device);
      slice_latency_ms.push_back(std::max(card_ms, factor * on_slice.latency_ms(workload.runtime)));
    }
  }
  std::optional<std::int64_t> steps = request.train ? request.steps : std::nullopt;
  if (request.parallel.tokens) {
    const auto& run = plan.graph->written_run;
    if (!run) return bad_input("--tokens: of a language model's training; other networks take --samples");
    steps = std::int64_t(std::ceil(double(*request.parallel.tokens) / (batch * double(run->sequence))));
  }
  AdviceOptions options;
  options.price = request.price;
  options.pue = request.pue;
  options.max_latency_ms = request.max_latency_ms;
  options.mig_rule = request.mig_rule;
  options.steps = steps;
  options.samples = request.samples;
  options.cloud = request.cloud;
  options.dataset_samples = request.dataset_samples;
  options.epochs = request.epochs;
  if (pass.parallel && pass.parallel->instance_usd_per_hour && request.price == "on_demand")
    options.usd_per_hour = *pass.parallel->instance_usd_per_hour * double(pass.parallel->nodes);
  return advise({target.device, result.estimates, may_slice ? std::span(target.slices) : std::span<const MigSlice>(),
                 slice_latency_ms, batch, devices, result.utilisation->gpu_busy, grid, options},
                result.advice, result.warnings);
}

Result<DeviceResult> Estimator::estimate(const Plan& plan, const Request& request, const Grid& grid,
                                         const Target& target, const ServingQuestion* serving) const {
  FORERUN_CHECK(check_run(request));
  const Device& device = target.device;
  DeviceResult result;
  result.device = device.id;
  result.warnings = plan.warnings;
  warn_once(result, target.notes);
  result.advice.region = grid.region;
  if (!can_compute(device, plan.workload.precision, result)) return result;
  if (plan.totals->coverage < 1.0) {
    result.warnings.push_back(
        fmt::format("coverage {:.3f}: nodes whose cost is unknown are not in the estimate", plan.totals->coverage));
  }
  FORERUN_TRY(Pass pass, estimate_pass(plan, request, device, request.explain));
  raise_to_larger_slices(plan, request, target, pass);
  raise_to_one_sample(plan, request, target.device, pass);
  FORERUN_CHECK(request.cancel.check());
  result.estimates = std::move(pass.answer.estimates);
  result.explanation = std::move(pass.effects);
  warn_once(result, pass.answer.warnings);
  if (const auto why = nothing_to_time(plan, result.estimates.at(Metric::Latency).value)) {
    keep_memory_alone(result);
    result.advice.fits = !result.estimates.contains(Metric::DeviceMemory) ||
                         needed_memory_mb(result.estimates) <= device.memory_gib * 1024;
    if (request.memory_budget_mb) FORERUN_CHECK(add_capacity(request, device, result));
    result.warnings.push_back(*why);
    return result;
  }
  const double latency_ms = result.estimates.at(Metric::Latency).value;
  const double batch = samples_per_pass(plan, request);
  add_throughput(batch, result.estimates);
  result.host_share = host_share(pass.answer);
  const Plan& timed = pass.parallel ? *pass.plan : plan;
  result.utilisation = utilisation_of(timed.kernels, pass.answer.kernels, device,
                                      pass.parallel ? double(pass.parallel->step.micro_batches) : 1, 1e3 * latency_ms);
  if (serving != nullptr) {
    FORERUN_TRY(result.serving, answer_serving(*serving, device));
    warn_once(result, result.serving->warnings);
    add_serving(*result.serving, result);
  }
  if (request.memory_budget_mb) FORERUN_CHECK(add_capacity(request, device, result));
  if (!request.store.empty()) {
    Workload workload = plan.workload;
    workload.runtime = runtime_of(request);
    FORERUN_TRY(result.measured, find_measured(request.store, *plan.graph, workload, device));
  }
  FORERUN_CHECK(add_advice(plan, request, grid, target, pass, batch, result));
  if (result.serving) {
    if (result.serving->needed_mb > result.serving->usable_mb) result.advice.fits = false;
    if (!result.estimates.contains(Metric::TokenRate)) {  // nothing is served: there is no price of a token
      result.advice.usd_per_million.reset();
      result.advice.co2_g_per_million.reset();
    }
  }
  result.breakdown = pass.parallel
                         ? break_down(*pass.plan, pass.answer.kernels, *pass.parallel, &device)
                         : break_down(plan, pass.answer.kernels,
                                      request.all_kernels ? plan.group_names.size() : kBreakdownRows, &device);
  result.parallel = std::move(pass.parallel);
  return result;
}

Result<RuntimeAnswer> Estimator::estimate_runtime(const Plan& plan, const Request& request,
                                                  const Target& target) const {
  FORERUN_TRY(Pass pass, estimate_pass(plan, request, target.device, false));
  raise_to_larger_slices(plan, request, target, pass);
  raise_to_one_sample(plan, request, target.device, pass);
  FORERUN_CHECK(request.cancel.check());
  KernelTerms sum;
  for (const KernelTerms& terms : pass.answer.kernels) add(sum, terms);
  RuntimeAnswer answer{runtime_of(request), std::move(pass.answer.estimates), bound_of(sum), host_share(pass.answer)};
  if (nothing_to_time(plan, answer.estimates.at(Metric::Latency).value)) return RuntimeAnswer{answer.runtime, {}};
  add_throughput(samples_per_pass(plan, request), answer.estimates);
  return answer;
}

std::int64_t batch_of(const Plan& plan) {
  if (plan.workload.binding.batch) return *plan.workload.binding.batch;
  if (plan.graph->written_run) return plan.graph->written_run->batch;
  for (const ValueId id : plan.graph->main().inputs) {
    const Value& input = plan.graph->values[std::size_t(id)];
    if (input.has_shape && !input.dims.empty()) return std::max<std::int64_t>(1, input.dims.front());
  }
  return 1;
}

// What the asker calls the network: a file's name; with its folder where that name is always the same.
static std::string title_of(const Request& request, const std::string& name) {
  std::error_code error;
  if (request.model.empty()) return name;
  if (request.network || !std::filesystem::exists(request.model, error)) return request.model;
  const std::filesystem::path path = std::filesystem::absolute(request.model, error).lexically_normal();
  const std::filesystem::path file = path.has_filename() ? path.filename() : path.parent_path().filename();
  const bool is_fixed = file == "config.json" || file == "model.onnx" || file == "saved_model.pb";
  return is_fixed && path.parent_path().has_filename() ? path.parent_path().filename().string() + "/" + file.string()
                                                       : file.string();
}

WorkloadInfo describe_workload(const Plan& plan, const Request& request) {
  WorkloadInfo info;
  info.name = plan.graph->name.empty() ? request.model : plan.graph->name;
  info.title = title_of(request, info.name);
  info.format = plan.graph->format;
  info.batch = batch_of(plan);
  info.precision = plan.workload.precision;
  info.runtime = runtime_of(request);
  info.phase = request.binding.phase.value_or(Phase::Forward);
  info.sequence = request.binding.seq;
  if (plan.graph->written_run) {
    info.phase = plan.graph->written_run->phase;
    if (plan.graph->written_run->sequence > 0) info.sequence = plan.graph->written_run->sequence;
  }
  info.training = request.train;
  info.optimizer = request.optimizer;
  info.parameters = plan.totals->parameters;
  info.macs = plan.totals->macs;
  return info;
}

}  // namespace forerun
