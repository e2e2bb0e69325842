#include "service/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "advice/carbon.hpp"
#include "advice/cost.hpp"
#include "analysis/kernel_builder.hpp"
#include "predictors/roofline/parallel.hpp"
#include "predictors/roofline/roofline.hpp"
#include "service/describe.hpp"
#include "service/learned.hpp"
#include "service/measured.hpp"
#include "service/serving.hpp"
#include "service/workspace.hpp"

namespace forerun {
namespace {

constexpr std::size_t kBreakdownRows = 40;

Estimate interval(double value, double log_width, const char* predictor) {
  return {value, value * std::exp(-log_width), value * std::exp(log_width), Basis::Roofline, predictor};
}

std::vector<std::string> operators_of(const Kernel& kernel, const Graph& graph) {
  if (kernel.node < 0) return {std::string(kernel.label)};
  return {graph.blocks[std::size_t(kernel.block)].nodes[std::size_t(kernel.node)].op_type};
}

std::vector<BreakdownRow> break_down(const Plan& plan, const RooflineEstimate& roofline, double scale) {
  std::vector<BreakdownRow> list(plan.group_names.size());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const Kernel& kernel = plan.kernels[i];
    const KernelTime& time = roofline.kernels[i];
    const auto group = std::size_t(plan.kernel_group[i]);
    BreakdownRow& row = list[group];
    if (row.kernel.empty()) {
      row.kernel = plan.group_names[group];
      row.operators = operators_of(kernel, *plan.graph);
      row.count = 0;
      row.bound = time.bound;
    }
    row.count += std::int64_t(kernel.runs);
    row.time_ms += time.time_us / 1e3 * scale;
    row.flops += kernel.flops * kernel.runs;
    row.bytes += (kernel.read_bytes + kernel.write_bytes) * kernel.runs;
  }
  std::sort(list.begin(), list.end(), [](const BreakdownRow& a, const BreakdownRow& b) { return a.time_ms > b.time_ms; });
  if (list.size() > kBreakdownRows) {
    BreakdownRow rest{fmt::format("{} other kinds", list.size() - kBreakdownRows), {}, 0, 0, Bound::Launch, 0, 0};
    for (std::size_t i = kBreakdownRows; i < list.size(); ++i) {
      rest.count += list[i].count;
      rest.time_ms += list[i].time_ms;
      rest.flops += list[i].flops;
      rest.bytes += list[i].bytes;
    }
    list.resize(kBreakdownRows);
    list.push_back(std::move(rest));
  }
  return list;
}

std::optional<std::int64_t> fact(const Graph& graph, std::string_view name) {
  for (const Attribute& attribute : graph.facts) {
    if (attribute.name != name) continue;
    if (const auto* value = std::get_if<std::int64_t>(&attribute.value)) return *value;
  }
  return std::nullopt;
}

std::int64_t batch_of(const Plan& plan) {
  if (plan.workload.binding.batch) return *plan.workload.binding.batch;
  if (const auto batch = fact(*plan.graph, "run_batch")) return *batch;
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
  info.phase = Phase(fact(*plan.graph, "run_phase").value_or(std::int64_t(request.binding.phase.value_or(Phase::Forward))));
  info.sequence = request.binding.seq;
  if (const auto sequence = fact(*plan.graph, "run_sequence")) info.sequence = sequence;
  info.training = request.train;
  info.optimizer = request.optimizer;
  info.parameters = plan.totals->parameters;
  info.macs = plan.totals->macs;
  return info;
}

struct PassResult {
  Estimates estimates;
  RooflineEstimate roofline;
  std::vector<FeatureEffect> effects;
};

// The request with its devices shared out: --gpus alone means tensor parallelism; copies divide the batch.
Result<Request> share_out(const Request& request, const Network& network) {
  Request shared = request;
  std::int64_t product = request.tensor_parallel * request.pipeline_parallel * request.data_parallel;
  if (request.gpus > 1 && product == 1) {
    (network.is_fixed_graph() ? shared.data_parallel : shared.tensor_parallel) = request.gpus;
    product = request.gpus;
  }
  if (request.gpus > 1 && product != request.gpus) {
    return bad_input(fmt::format("--gpus {}: tensor x pipeline x data parallelism is {}", request.gpus, product));
  }
  constexpr std::int64_t kMostDevices = 65536;
  if (product > kMostDevices) return bad_input("more than 65536 devices");
  if (shared.data_parallel > 1) shared.binding.batch = std::max<std::int64_t>(1, (request.binding.batch.value_or(1) + shared.data_parallel - 1) / shared.data_parallel);
  return shared;
}

}  // namespace

struct Service::State {
  ServiceConfig config;
  Catalogue catalogue;
  // Read when first asked for an estimate: inspecting a file does not wait for them.
  mutable std::once_flag learned_once;
  mutable LearnedPredictors learned_predictors;
  const LearnedPredictors& learned() const {
    std::call_once(learned_once, [this] { learned_predictors = LearnedPredictors::load(); });
    return learned_predictors;
  }
  mutable Workspace workspace;
  explicit State(ServiceConfig c, Catalogue k) : config(c), catalogue(std::move(k)), workspace(c.cached_networks, c.cached_analyses) {}

  Result<std::vector<Device>> devices_of(const Request& request) const;
  Result<PassResult> estimate_pass(const Plan& plan, const Request& request, const Device& device, std::vector<std::string>& warnings) const;
  Status spread(const Plan& plan, const Request& request, const Device& device, const Parallelism& parallel, Estimates& estimates, std::vector<std::string>& warnings) const;
  Result<DeviceResult> estimate(const Plan& plan, const Request& request, const Device& device) const;
  Status advise(const Plan& plan, const Request& request, const Device& device, const Grid& grid, const RooflineEstimate& roofline, double batch, DeviceResult& result) const;
};

Result<std::vector<Device>> Service::State::devices_of(const Request& request) const {
  std::vector<Device> devices;
  const Catalogue* source = &catalogue;
  Catalogue extended;
  if (!request.device_file.empty()) {
    extended = catalogue;
    FORERUN_CHECK(extended.add_file(request.device_file));
    source = &extended;
  }
  for (const std::string& name : request.devices) {
    if (name == "all") {
      for (const Device& device : source->devices()) {
        if (device.kind != "cpu") devices.push_back(device);
      }
      continue;
    }
    FORERUN_TRY(Device device, source->find(name));
    devices.push_back(std::move(device));
  }
  constexpr std::size_t kMostTargets = 512;
  if (devices.size() > kMostTargets) return Error{ErrorKind::TooLarge, "--device: more than 512 devices in one request"};
  if (devices.empty()) return bad_input("no device given: --device ID, or --device all (forerun devices lists them)");
  return devices;
}

// One pass of the plan on the device, or on several of them: times, memory, energy.
Result<PassResult> Service::State::estimate_pass(const Plan& plan, const Request& request, const Device& device, std::vector<std::string>& warnings) const {
  PassResult pass;
  Workload workload = plan.workload;
  workload.runtime = request.runtime;
  const Parallelism parallel{request.tensor_parallel, request.pipeline_parallel, request.data_parallel};
  if (parallel.tensor == 1) {
    pass.roofline = estimate_roofline(plan.kernels, plan.memory, workload, device);
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
    const PredictorInput input{*plan.graph, *plan.totals, plan.kernels, workload, device, pass.roofline};
    FORERUN_CHECK(learned().apply(input, request.predictor, e, warnings));
    if (request.explain) pass.effects = learned().explain(input, e);
  } else if (!request.predictor.empty() && request.predictor != "roofline") {
    return bad_input("predictor '" + request.predictor + "' does not answer for several devices; take 'roofline'");
  }
  if (parallel.devices() > 1) {
    FORERUN_CHECK(spread(plan, request, device, parallel, e, warnings));
  }
  return pass;
}

// Exchange between devices and their shares of memory.
Status Service::State::spread(const Plan& plan, const Request& request, const Device& device, const Parallelism& parallel, Estimates& e,
                              std::vector<std::string>& warnings) const {
  const auto layers = fact(*plan.graph, "layers");
  const auto hidden = fact(*plan.graph, "hidden_size");
  if (!layers || !hidden) {
    if (parallel.tensor > 1 || parallel.pipeline > 1) {
      return bad_input("--tensor-parallel and --pipeline-parallel need a language model's configuration; other networks take --data-parallel");
    }
  }
  const bool decode = Phase(fact(*plan.graph, "run_phase").value_or(0)) == Phase::Decode;
  const double tokens = double(batch_of(plan)) * (decode ? 1.0 : double(fact(*plan.graph, "run_sequence").value_or(1)));
  const double message = tokens * double(hidden.value_or(0)) * activation_bytes(plan.workload.precision);
  double exchange_us = 0;
  if (parallel.tensor > 1) exchange_us += 2 * double(*layers) * all_reduce_us(device, parallel.tensor, message);
  if (parallel.pipeline > 1) exchange_us += double(parallel.pipeline - 1) * send_us(device, message);
  if (parallel.data > 1 && request.train) exchange_us += all_reduce_us(device, parallel.data, double(plan.totals->parameters) * 4);
  const auto scale = [](Estimate& estimate, double factor) {
    estimate.value *= factor;
    estimate.low *= factor;
    estimate.high *= factor;
  };
  const double before = e["latency_ms"].value;
  scale(e["latency_ms"], (before + exchange_us / 1e3) / before);
  // Energy of all devices together; memory of one of them.
  scale(e["energy_j"], (before + exchange_us / 1e3) / before * double(parallel.devices()) / double(parallel.pipeline));
  scale(e["power_w"], double(parallel.devices()) / double(parallel.pipeline));
  double elements = 0;
  double cache_mb = 0;
  for (const Value& value : plan.graph->values) {
    if (value.is_parameter) elements += double(bytes_of(value)) / 1048576.0;
    if (!value.is_initializer && value.name.starts_with("past_")) cache_mb += double(bytes_of(value)) / 1048576.0;
  }
  const double divided = elements + cache_mb;
  const double shared = divided / double(parallel.tensor * parallel.pipeline);
  for (const char* metric : {"memory_mb", "device_memory_mb"}) {
    const double total = e[metric].value;
    scale(e[metric], std::max(0.02, (total - std::min(total * 0.99, divided) + shared) / total));
  }
  warnings.push_back(fmt::format("{} devices: memory is one device's, power and energy are all devices'; exchange takes {:.3g} ms", parallel.devices(), exchange_us / 1e3));
  return ok();
}

Result<DeviceResult> Service::State::estimate(const Plan& plan, const Request& request, const Device& device) const {
  DeviceResult result;
  result.device = device.id;
  const Precision precision = plan.workload.precision;
  result.warnings = plan.graph->warnings;
  FORERUN_TRY(const Grid grid, find_grid(request.region));
  result.advice.region = grid.region;
  if ((precision == Precision::Fp8 && !device.peak_tflops.contains("fp8_tensor")) ||
      (precision == Precision::Int8 && peak_tflops(device, Math::Int8Tensor) == 0)) {
    result.warnings.push_back(device.id + " has no " + std::string(name_of(precision)) + " arithmetic: not estimated");
    result.advice.fits = false;
    return result;
  }
  if (const auto problem = precision_problem(device, precision)) result.warnings.push_back(*problem);
  if (plan.totals->coverage < 1.0) {
    result.warnings.push_back(fmt::format("coverage {:.3f}: nodes whose cost is unknown are not in the estimate", plan.totals->coverage));
  }
  FORERUN_TRY(PassResult pass, estimate_pass(plan, request, device, result.warnings));
  result.estimates = std::move(pass.estimates);
  result.explanation = std::move(pass.effects);
  Estimates& e = result.estimates;
  const double batch = double(batch_of(plan)) * double(request.data_parallel);
  const Estimate time = e["latency_ms"];
  e["throughput_per_s"] = {batch * 1e3 / time.value, batch * 1e3 / time.high, batch * 1e3 / time.low, time.basis, time.predictor};
  const EstimatePass other_pass = [&](const Request& other) -> Result<PassEstimate> {
    FORERUN_TRY(const std::shared_ptr<const Plan> other_plan, workspace.plan_of(other));
    std::vector<std::string> ignored;
    FORERUN_TRY(PassResult estimate, estimate_pass(*other_plan, other, device, ignored));
    return PassEstimate{estimate.estimates["latency_ms"], estimate.estimates["energy_j"], estimate.estimates["device_memory_mb"]};
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
  FORERUN_CHECK(advise(plan, request, device, grid, pass.roofline, batch, result));
  result.breakdown = break_down(plan, pass.roofline, pass.roofline.device_ms > 0 ? time.value / pass.roofline.device_ms : 1);
  return result;
}

Status Service::State::advise(const Plan& plan, const Request& request, const Device& device, const Grid& grid, const RooflineEstimate& roofline, double batch,
                              DeviceResult& result) const {
  Estimates& e = result.estimates;
  Advice& advice = result.advice;
  const double time_ms = e["latency_ms"].value;
  const double device_memory = e["device_memory_mb"].value;
  const double devices = double(request.tensor_parallel * request.pipeline_parallel * request.data_parallel);
  advice.fits = device_memory <= device.memory_gib * 1024;
  if (!device.mig.empty() && devices == 1) {
    Workload workload = plan.workload;
    workload.runtime = request.runtime;
    const double latency = roofline.latency_ms(request.runtime);
    const double scale = latency > 0 ? time_ms / latency : 1;
    const auto on_slice = [&](const Device& slice) {
      return std::max(time_ms, scale * estimate_roofline(plan.kernels, plan.memory, workload, slice).latency_ms(request.runtime));
    };
    advice.mig = advise_mig(device, device_memory, batch, request.max_latency_ms, on_slice);
    if (request.mig_rule == "memory") {
      if (device.id.find("40gb") == std::string::npos || !device.id.starts_with("a100")) {
        return bad_input("--rule memory is the A100-40GB's; " + device.id + " is another card");
      }
      const auto profile = mig_by_memory_rule(e["memory_mb"].value);
      std::optional<MigAdvice> by_rule;
      if (profile) {
        by_rule.emplace();
        by_rule->profile = *profile;
        by_rule->why = fmt::format("published memory rule: {:.0f} MB", e["memory_mb"].value);
        for (const MigProfile& row : device.mig) by_rule->instances = row.profile == *profile ? row.instances : by_rule->instances;
        by_rule->slices = estimate_slices(device, device_memory, batch, on_slice);
      }
      advice.mig = std::move(by_rule);
    }
  }
  const bool serving = e.contains("tokens_per_s");
  // A million of what the workload makes: samples, or generated tokens when serving was asked for.
  const double seconds_per_unit = serving ? 1 / e["tokens_per_s"].value : time_ms / 1e3 / batch;
  const double joules_per_unit = serving ? e["energy_per_token_j"].value : e["energy_j"].value / batch;
  if (const auto price = find_price(device.id, request.price)) {
    advice.usd_per_hour = price->usd_per_hour * devices;
    advice.price_kind = price->kind;
    advice.price_date = price->date;
    advice.usd_per_million = *advice.usd_per_hour / 3600 * seconds_per_unit * 1e6;
  } else {
    result.warnings.push_back("no " + request.price + " price is known for " + device.id);
  }
  const double grams_per_joule = grid.g_per_kwh * request.pue.value_or(grid.pue) / 3.6e6;
  advice.co2_g_per_million = joules_per_unit * 1e6 * grams_per_joule;
  const std::optional<double> passes = request.steps && request.train ? std::optional(double(*request.steps))
                                       : request.samples              ? std::optional(std::ceil(double(*request.samples) / batch))
                                                                      : std::nullopt;
  if (passes) {
    advice.hours_total = *passes * time_ms / 3.6e6;
    advice.energy_kwh_total = *passes * e["energy_j"].value / 3.6e6;
    advice.co2_g_total = *passes * e["energy_j"].value * grams_per_joule;
    if (advice.usd_per_hour) advice.usd_total = *advice.usd_per_hour * *advice.hours_total;
  }
  return ok();
}

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::create(ServiceConfig config) {
  FORERUN_TRY(Catalogue catalogue, Catalogue::load());
  return std::unique_ptr<Service>(new Service(std::make_unique<State>(config, std::move(catalogue))));
}

const Catalogue& Service::catalogue() const { return state_->catalogue; }

std::vector<PredictorInfo> Service::predictors() const {
  std::vector<PredictorInfo> list = state_->learned().describe();
  list.push_back({"roofline", "roofline", {"latency_ms", "memory_mb", "device_memory_mb", "energy_j", "power_w"}, ""});
  return list;
}

Result<InspectReport> Service::inspect(const Request& request) const {
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, state_->workspace.plan_of(request));
  const Graph& graph = *plan->graph;
  InspectReport report;
  report.name = graph.name.empty() ? request.model : graph.name;
  report.format = graph.format;
  report.batch = batch_of(*plan);
  report.totals = *plan->totals;
  report.warnings = graph.warnings;
  const auto describe = [&graph](const std::vector<ValueId>& ids) {
    std::vector<TensorInfo> list;
    for (const ValueId id : ids) {
      if (id == kNoValue) continue;
      const Value& value = graph.values[std::size_t(id)];
      list.push_back({value.name, std::string(name_of(value.dtype)), value.dims, value.has_shape});
    }
    return list;
  };
  report.inputs = describe(graph.main().inputs);
  report.outputs = describe(graph.main().outputs);
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const std::int64_t bytes = node.cost.bytes_read + node.cost.bytes_written;
      if (node.cost.flops == 0 && bytes == 0) continue;
      report.dearest.push_back({node.name, node.op_type, node.cost.macs * block.runs, node.cost.flops * block.runs, node.cost.parameters, bytes * block.runs});
    }
  }
  std::sort(report.dearest.begin(), report.dearest.end(), [](const NodeInfo& a, const NodeInfo& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.bytes_moved > b.bytes_moved;
  });
  return report;
}

Result<PredictReport> Service::predict(const Request& request) const {
  FORERUN_TRY(const std::vector<Device> devices, state_->devices_of(request));
  FORERUN_TRY(const std::shared_ptr<const Network> network, state_->workspace.network_of(request));
  FORERUN_TRY(const Request shared, share_out(request, *network));
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, state_->workspace.plan_of(shared));
  PredictReport report;
  report.workload = describe_workload(*plan, request);
  if (request.binding.batch) report.workload.batch = *request.binding.batch;
  for (const Device& device : devices) {
    FORERUN_TRY(DeviceResult result, state_->estimate(*plan, shared, device));
    report.results.push_back(std::move(result));
  }
  return report;
}

Result<MigReport> Service::mig(const Request& request) const {
  FORERUN_TRY(const std::vector<Device> devices, state_->devices_of(request));
  if (devices.size() != 1) return bad_input("forerun mig takes one device");
  const Device& device = devices.front();
  if (device.mig.empty()) return bad_input("device '" + device.id + "' has no MIG");
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, state_->workspace.plan_of(request));
  FORERUN_TRY(DeviceResult result, state_->estimate(*plan, request, device));
  MigReport report;
  report.workload = describe_workload(*plan, request);
  report.device = device.id;
  report.memory_mb = result.estimates["memory_mb"].value;
  report.device_memory_mb = result.estimates["device_memory_mb"].value;
  report.advice = result.advice.mig;
  report.warnings = result.warnings;
  Workload workload = plan->workload;
  workload.runtime = request.runtime;
  const double scale = result.estimates["latency_ms"].value /
                       std::max(1e-9, estimate_roofline(plan->kernels, plan->memory, workload, device).latency_ms(request.runtime));
  report.slices = estimate_slices(device, report.device_memory_mb, double(report.workload.batch), [&](const Device& slice) {
    return scale * estimate_roofline(plan->kernels, plan->memory, workload, slice).latency_ms(request.runtime);
  });
  return report;
}

Result<RooflineReport> Service::roofline(const Request& request) const {
  FORERUN_TRY(const std::vector<Device> devices, state_->devices_of(request));
  if (devices.size() != 1) return bad_input("forerun roofline takes one device");
  const Device& device = devices.front();
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, state_->workspace.plan_of(request));
  Workload workload = plan->workload;
  workload.runtime = request.runtime;
  const RooflineEstimate estimate = estimate_roofline(plan->kernels, plan->memory, workload, device);
  RooflineReport report;
  report.workload = describe_workload(*plan, request);
  report.device = device.id;
  report.device_name = device.name;
  report.warnings = plan->graph->warnings;
  for (const auto& [name, rate] : device.peak_tflops) report.ceilings.push_back({name, rate, false, false});
  report.ceilings.push_back({"memory", device.memory_bandwidth_gb_per_s, true, false});
  if (device.measured) {
    for (const auto& [name, rate] : device.measured->peak_tflops) report.ceilings.push_back({name, rate, false, true});
    if (device.measured->memory_bandwidth_gb_per_s) report.ceilings.push_back({"memory", *device.measured->memory_bandwidth_gb_per_s, true, true});
    if (device.measured->l2_bandwidth_gb_per_s) report.ceilings.push_back({"L2", *device.measured->l2_bandwidth_gb_per_s, true, true});
  } else if (device.l2_mib) {
    report.ceilings.push_back({"L2 (estimated)", device.memory_bandwidth_gb_per_s * shipped_constants().l2_speedup, true, false});
  }
  std::map<std::string, RooflinePoint> points;
  for (std::size_t i = 0; i < plan->kernels.size(); ++i) {
    const Kernel& kernel = plan->kernels[i];
    const KernelTime& time = estimate.kernels[i];
    std::string name = describe_kernel(kernel);
    RooflinePoint& point = points[name];
    if (point.kernel.empty()) {
      point.kernel = std::move(name);
      point.count = 0;
      point.bound = time.bound;
      point.why = explain_bound(kernel, time, device);
    }
    point.count += std::int64_t(kernel.runs);
    point.flops += kernel.flops * kernel.runs;
    point.bytes += (kernel.read_bytes + kernel.write_bytes) * kernel.runs;
    point.time_ms += time.time_us / 1e3;
  }
  for (auto& [name, point] : points) {
    point.intensity = point.bytes > 0 ? point.flops / point.bytes : 0;
    point.gflops_per_s = point.time_ms > 0 ? point.flops / point.time_ms / 1e6 : 0;
    report.points.push_back(std::move(point));
  }
  std::sort(report.points.begin(), report.points.end(), [](const RooflinePoint& a, const RooflinePoint& b) { return a.time_ms > b.time_ms; });
  return report;
}

}  // namespace forerun
