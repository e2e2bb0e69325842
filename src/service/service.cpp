#include "service/service.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "advice/carbon.hpp"
#include "analysis/data_sizes.hpp"
#include "service/assertions.hpp"
#include "service/edge_answer.hpp"
#include "service/estimate.hpp"
#include "service/remedies.hpp"
#include "service/work.hpp"

namespace forerun {

struct Service::State {
  Catalogue catalogue;
  mutable TargetFinder targets{catalogue};
  mutable Workspace workspace;
  State(ServiceConfig config, Catalogue devices)
      : catalogue(std::move(devices)), workspace(config.cached_networks, config.cached_analyses, config.cached_nodes) {}

  // Read when first asked for an estimate: inspecting a file does not wait for them.
  mutable std::once_flag predictors_once;
  mutable PredictorSet predictor_set;
  const PredictorSet& predictors() const {
    std::call_once(predictors_once, [this] { predictor_set = PredictorSet::load(); });
    return predictor_set;
  }

  [[nodiscard]] Estimator estimator(Workspace& of) const {
    const std::string measured = predictors().measured_device();
    const auto& devices = catalogue.devices();
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.id == measured; });
    return {of, predictors(), found == devices.end() ? nullptr : &*found};
  }
};

namespace {

// The plan of a network that can run; a file of weights alone can only be inspected.
Result<std::shared_ptr<const Plan>> runnable_plan_of(Workspace& workspace, const Request& request) {
  FORERUN_TRY(std::shared_ptr<const Plan> plan, workspace.plan_of(request));
  if (plan->graph->origin.form == GraphForm::WeightsOnly) {
    return bad_input((request.model.empty() ? plan->graph->name : request.model) + ": holds weights (" +
                     plan->graph->format +
                     ") and no graph, so there is nothing to run; give a folder with the weights "
                     "and their config.json, or an ONNX export (forerun inspect lists what the file holds)");
  }
  if (runtime_of(request) == Runtime::Compiled) FORERUN_CHECK(check_compiled(*plan, request));
  return plan;
}

// Plans of a network that is asked about once are kept for the passes and devices of its request and no longer.
class RequestWorkspace {
 public:
  RequestWorkspace(Workspace& shared, const Request& request) : own_(1, kPlans, kNodes), shared_(shared) {
    is_own_ = request.is_transient;
  }
  [[nodiscard]] Workspace& operator*() { return is_own_ ? own_ : shared_; }

 private:
  static constexpr std::size_t kPlans = 64;
  static constexpr std::size_t kNodes = 400'000;
  Workspace own_;
  Workspace& shared_;
  bool is_own_ = false;
};

// Before a serving question, whose table of passes is most of its work. A front end without a limit does without the
// plan that the figures come from.
Status check_work_before(Workspace& workspace, const Request& request, std::size_t devices) {
  if (!std::isfinite(request.most_work)) return ok();
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(workspace, request));
  return check_work(*plan, request, devices);
}

// Refuses combinations that no runtime supports.
Status check_training(const Request& request, Precision precision) {
  if (!request.train) return ok();
  if (precision == Precision::Int8 || precision == Precision::Int4 || precision == Precision::Fp4) {
    return bad_input("--train --precision " + std::string(name_of(precision)) +
                     ": training runs in floating point; take fp32, tf32, fp16, bf16, amp_bf16 or amp_fp16");
  }
  if (request.runtime == Runtime::Graph)
    return bad_input("--train --runtime graph: training steps are estimated as PyTorch launches them; take eager");
  return ok();
}

// Refuses what engines do not run.
Status check_serving(const Request& request, const Network& network) {
  if (network.is_fixed_graph())
    return bad_input(
        "serving questions need a language model's configuration (config.json, GGUF or a shipped name): a "
        "recorded graph has no phases");
  if (request.train) return bad_input("--train: serving questions are about inference");
  if (request.runtime == Runtime::Compiled)
    return bad_input(
        "--runtime compiled: serving questions are about an engine's kernels; take engine, or leave it out");
  return ok();
}

// Refuses options that mean nothing for this network or question.
Status check_applies(const Request& request, const Network& network) {
  if (network.is_fixed_graph() && request.binding.phase.value_or(Phase::Forward) != Phase::Forward) {
    return bad_input("--phase " + std::string(name_of(*request.binding.phase)) +
                     ": of language models given as a configuration; a recorded graph has one pass, so leave it out");
  }
  const bool is_of_load = !request.engine_version.empty() || request.kv_bytes || request.input_cv > 0 ||
                          request.output_cv > 0 || request.burstiness != 1 || request.prefill_tensor_parallel > 0;
  if (is_of_load && !asks_for_serving(request)) {
    return bad_input(
        "--engine-version, --kv-precision, --input-cv, --output-cv, --burstiness and --prefill-tensor-parallel are of "
        "serving questions: add --concurrency, --request-rate or --users");
  }
  return ok();
}

// The pass reported beside a serving answer: a decode step of the requests in flight, half way through their outputs.
void ask_for_decode_step(const ServingQuestion& serving, Request& request) {
  request.in_engine = !serving.eager;
  request.precision = serving.precision;
  request.runtime = serving.eager ? Runtime::Eager : Runtime::Graph;
  request.parallel.degrees.data = request.parallel.degrees.expert = 1;
  request.parallel.step = {};
  if (request.parallel.degrees.devices() == 1) request.parallel.cluster.reset();
  request.whole_batch.reset();
  request.binding.phase = Phase::Decode;
  const std::int64_t clients = serving.load.concurrency.value_or(request.binding.batch.value_or(1));
  request.binding.batch = std::max<std::int64_t>(1, std::min<std::int64_t>(1024, clients / serving.decode.count));
  request.binding.seq = std::max<std::int64_t>(1, std::int64_t(serving.load.input.mean + serving.load.output.mean / 2));
}

// What the runtime means on this device.
void say_of_runtime(const Request& asked, const Request& request, const Device& device,
                    std::vector<std::string>& warnings) {
  const Runtime runtime = runtime_of(request);
  if (asked.host_speed && runtime != Runtime::Eager)
    warnings.push_back("--host-speed changes nothing: only eager passes wait for their host, and this is " +
                       std::string(request.in_engine ? "an engine's" : name_of(runtime)));
  if (runtime != Runtime::Eager && !request.in_engine && device.maker != "NVIDIA")
    warnings.push_back(std::string(name_of(runtime)) + ": there are no CUDA graphs on " + device.id +
                       "; meant is that its kernels follow each other without waiting for the host");
}

bool needs_verdict(const Request& request, const Targets& targets) {
  return targets.size() > 1 || has_limits(request) || request.remedies || request.fits_only;
}

// Assertions, remedies, the verdict, and the order of the results.
Status judge(const Request& request, const Targets& targets, const AskFunction& ask, PredictReport& report) {
  report.id = request.id;
  report.limited = has_limits(request);
  report.is_sorted = !request.sort.empty() || request.top;
  report.assertions = check_assertions(request.assertions, report.results);
  if (!needs_verdict(request, targets)) return ok();
  if (request.remedies) FORERUN_CHECK(find_remedies(request, targets, ask, report));
  if (targets.size() > 1 || report.limited) report.verdict = find_verdict(request, report);
  arrange_results(request, report);
  return ok();
}

// Every runtime's answer, in the order of the enum.
Status add_runtimes(Workspace& workspace, const Estimator& estimator, const Request& request, const Target& target,
                    DeviceResult& result) {
  for (const Runtime runtime : {Runtime::Eager, Runtime::Graph, Runtime::Compiled}) {
    if (request.train && runtime != Runtime::Eager) continue;
    Request other = request;
    other.runtime = runtime;
    FORERUN_TRY(const std::shared_ptr<const Plan> plan, workspace.plan_of(other));
    if (runtime == Runtime::Compiled && !check_compiled(*plan, other)) continue;
    FORERUN_TRY(RuntimeAnswer answer, estimator.estimate_runtime(*plan, other, target));
    if (!answer.estimates.empty()) result.runtimes.push_back(std::move(answer));
  }
  return ok();
}

}  // namespace

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::create(ServiceConfig config) {
  FORERUN_TRY(Catalogue catalogue, Catalogue::load());
  for (const std::string& file : config.device_files) FORERUN_CHECK(catalogue.add_file(file));
  return std::unique_ptr<Service>(new Service(std::make_unique<State>(config, std::move(catalogue))));
}

const Catalogue& Service::catalogue() const { return state_->catalogue; }

std::vector<PredictorInfo> Service::predictors() const { return state_->predictors().describe(); }

Result<InspectReport> Service::inspect(const Request& request) const {
  RequestWorkspace workspace(state_->workspace, request);
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, (*workspace).plan_of(request));
  const Graph& graph = *plan->graph;
  InspectReport report;
  report.name = graph.name.empty() ? request.model : graph.name;
  report.format = graph.format;
  report.batch = batch_of(*plan);
  report.totals = *plan->totals;
  report.warnings = plan->warnings;
  const std::vector<bool> bounds = sizes_from_data(graph);
  const auto describe = [&graph, &bounds](const std::vector<ValueId>& ids) {
    std::vector<TensorInfo> list;
    for (const ValueId id : ids) {
      if (id == kNoValue) continue;
      const Value& value = graph.values[std::size_t(id)];
      list.push_back(
          {value.name, std::string(name_of(value.dtype)), value.dims, value.has_shape, bounds[std::size_t(id)]});
    }
    return list;
  };
  report.inputs = describe(graph.main().inputs);
  report.outputs = describe(graph.main().outputs);
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const std::int64_t bytes = node.cost.bytes_read + node.cost.bytes_written;
      if (node.cost.flops == 0 && bytes == 0) continue;
      report.largest.push_back({node.name, node.op_type, node.cost.macs * block.runs, node.cost.flops * block.runs,
                                node.cost.parameters, bytes * block.runs});
    }
  }
  std::sort(report.largest.begin(), report.largest.end(), [](const NodeInfo& a, const NodeInfo& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.bytes_moved > b.bytes_moved;
  });
  return report;
}

Result<NodesReport> Service::nodes(const Request& request) const {
  RequestWorkspace workspace(state_->workspace, request);
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, (*workspace).plan_of(request));
  const Graph& graph = *plan->graph;
  return NodesReport{graph.name.empty() ? request.model : graph.name, graph.format, describe_nodes(graph),
                     plan->warnings};
}

namespace {

Result<PredictReport> predict_on_edge(Workspace& shared, const Request& request, const EdgePlatform& platform) {
  FORERUN_CHECK(check_edge_request(request, platform));
  RequestWorkspace workspace(shared, request);
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, request));
  PredictReport report;
  report.workload = describe_workload(*plan, request);
  FORERUN_TRY(DeviceResult result, answer_edge(platform, *plan, report.workload.batch));
  if (has_limits(request) || request.fits_only) result.limits = check_limits(request, result, Device());
  report.results.push_back(std::move(result));
  Request asked = request;
  asked.remedies = false;  // what is known of these boards are whole networks
  FORERUN_CHECK(judge(asked, {}, {}, report));
  return report;
}

}  // namespace

Result<bool> Service::is_language_model(const Request& request) const {
  FORERUN_TRY(const std::shared_ptr<const Network> network, state_->workspace.network_of(request));
  if (network->is_fixed_graph()) return false;
  Binding binding;
  binding.batch = binding.seq = 1;
  binding.shard.layers = 1;
  const Result<Graph> graph = network->expand(binding);
  return graph && graph->written_run && graph->written_run->phase == Phase::Prefill;
}

Result<PredictReport> Service::predict(const Request& asked) const {
  if (asked.serve)
    return bad_input("serve: of forerun plan; one deployment is asked about with request_rate or concurrency");
  FORERUN_TRY(const Request request, with_users(asked));
  FORERUN_TRY(const EdgePlatform* edge, edge_platform_of(request));
  if (edge != nullptr) return predict_on_edge(state_->workspace, request, *edge);
  FORERUN_TRY(const Targets targets, state_->targets.find(request));
  FORERUN_TRY(const Grid grid, find_grid(request.region));
  RequestWorkspace workspace(state_->workspace, request);
  FORERUN_TRY(const std::shared_ptr<const Network> network, (*workspace).network_of(request));
  FORERUN_TRY(Request shared, share_out(request, *network, targets.front()->device));
  // Several devices are compared by their kernels; a step was measured as PyTorch launches it.
  if (!shared.runtime) shared.runtime = targets.size() > 1 && !shared.train ? Runtime::Graph : Runtime::Eager;
  FORERUN_CHECK(check_applies(request, *network));
  PredictReport report;
  std::optional<ServingQuestion> serving;
  if (asks_for_serving(request)) {
    FORERUN_CHECK(check_serving(shared, *network));
    if (request.fps) return bad_input("--fps: of images; of a served language model take --min-throughput (tokens/s)");
    FORERUN_CHECK(check_work_before(*workspace, shared, targets.size()));
    FORERUN_TRY(serving, make_serving_question(*workspace, shared));
    ask_for_decode_step(*serving, shared);
    report.load = serving->load;
  } else if (shared.runtime == Runtime::Engine) {
    FORERUN_CHECK(check_serving(shared, *network));
    shared.in_engine = true;
    shared.runtime = Runtime::Graph;
  }
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, shared));
  FORERUN_CHECK(check_training(request, plan->workload.precision));
  FORERUN_CHECK(check_work(*plan, request, targets.size(), request.remedies ? kRemedyQuestions : 1));
  report.workload = describe_workload(*plan, shared);
  if (shared.in_engine) report.workload.runtime = Runtime::Engine;
  if (request.binding.batch && !serving) report.workload.batch = *request.binding.batch;
  if (shared.parallel.cluster && shared.whole_batch) report.workload.batch = *shared.whole_batch;
  const Estimator estimator = state_->estimator(*workspace);
  for (const auto& target : targets) {
    FORERUN_CHECK(request.cancel.check());
    if (shared.parallel.cluster) {  // what is assumed of the devices' links differs between devices
      FORERUN_TRY(Request one, share_out(request, *network, target->device));
      shared.parallel.cluster = std::move(one.parallel.cluster);
    }
    FORERUN_TRY(DeviceResult result, estimator.estimate(*plan, shared, grid, *target, serving ? &*serving : nullptr));
    result.was_measured = state_->predictors().was_measured(target->device);
    say_of_runtime(request, shared, target->device, result.warnings);
    if (request.runtimes && !serving && !shared.in_engine && !result.estimates.empty())
      FORERUN_CHECK(add_runtimes(*workspace, estimator, shared, *target, result));
    if (needs_verdict(request, targets)) result.limits = check_limits(request, result, target->device);
    report.results.push_back(std::move(result));
    if (request.progress) request.progress->share = double(report.results.size()) / double(targets.size());
  }
  FORERUN_CHECK(judge(
      request, targets, [this](const Request& changed) { return predict(changed); }, report));
  return report;
}

Result<AdviseReport> Service::advise(const Request& request) const {
  FORERUN_TRY(const Targets targets, state_->targets.find(request));
  if (targets.size() != 1) return bad_input("forerun advise takes one device");
  FORERUN_TRY(const std::shared_ptr<const Network> network, state_->workspace.network_of(request));
  Request asked = request;
  asked.network = network;
  RequestWorkspace workspace(state_->workspace, asked);
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, asked));
  FORERUN_CHECK(check_work(*plan, asked, 1, kAdviseQuestions));
  FORERUN_TRY(const PredictReport before, predict(asked));
  return search_changes(
      {asked, network, plan->graph, plan->workload, targets.front()->device, state_->catalogue.devices(), before},
      [this](const Request& changed) { return predict(changed); });
}

Result<PlanReport> Service::plan(const Request& request) const {
  RequestWorkspace workspace(state_->workspace, request);
  FORERUN_TRY(const std::shared_ptr<const Network> network, (*workspace).network_of(request));
  if (request.serve) {
    FORERUN_CHECK(check_serving(request, *network));
    Request asked = request;
    if (asked.devices.empty() && asked.device_file.empty() && asked.parallel.system.empty()) asked.devices = {"all"};
    FORERUN_TRY(const Targets targets, state_->targets.find(asked));
    FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, request));
    FORERUN_CHECK(check_work(*plan, request, targets.size(), kPlanQuestions));
    ServingPlanner planner{*workspace, {}};
    for (const auto& target : targets) planner.devices.push_back(&target->device);
    FORERUN_TRY(ServingPlan found, plan_serving(asked, planner));
    return PlanReport(std::move(found));
  }
  FORERUN_TRY(const Targets targets, state_->targets.find(request));
  if (targets.size() != 1) return bad_input("forerun plan takes one device or --system");
  if (asks_for_serving(request)) return bad_input("forerun plan: add --serve to search deployments that serve a load");
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, request));
  FORERUN_CHECK(check_work(*plan, request, 1, kPlanQuestions));
  const Estimator estimator = state_->estimator(*workspace);
  FORERUN_TRY(LayoutReport found, estimator.plan_layouts(request, *network, *targets.front()));
  return PlanReport(std::move(found));
}

Result<MigReport> Service::mig(const Request& request) const {
  FORERUN_TRY(const Targets targets, state_->targets.find(request));
  if (targets.size() != 1) return bad_input("forerun mig takes one device");
  const Target& target = *targets.front();
  if (target.slices.empty()) return bad_input("device '" + target.device.id + "' has no MIG");
  FORERUN_TRY(const Grid grid, find_grid(request.region));
  RequestWorkspace workspace(state_->workspace, request);
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, request));
  FORERUN_CHECK(check_training(request, plan->workload.precision));
  const Estimator estimator = state_->estimator(*workspace);
  FORERUN_TRY(DeviceResult result, estimator.estimate(*plan, request, grid, target));
  if (result.estimates.empty()) return bad_input(result.warnings.back());
  MigReport report;
  report.workload = describe_workload(*plan, request);
  report.device = target.device.id;
  report.memory_mb = result.estimates.at(Metric::Memory).value;
  report.device_memory_mb = result.estimates.at(Metric::DeviceMemory).value;
  report.advice = std::move(result.advice.mig);
  report.slices = std::move(result.advice.slices);
  report.utilisation = result.utilisation;
  report.warnings = std::move(result.warnings);
  return report;
}

Result<RooflineReport> Service::roofline(const Request& request) const {
  FORERUN_TRY(const Targets targets, state_->targets.find(request));
  if (targets.size() != 1) return bad_input("forerun roofline takes one device");
  if (!request.predictor.empty() && request.predictor != "roofline")
    return bad_input("--predictor: rooflines are the analytic predictor's; predict --explain shows others' kernels");
  if (!request.one_operator.empty() || !request.sweeps.empty())
    return report_operator(request, targets.front()->device);
  RequestWorkspace workspace(state_->workspace, request);
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, runnable_plan_of(*workspace, request));
  return report_roofline(*plan, request, targets.front()->device);
}

}  // namespace forerun
