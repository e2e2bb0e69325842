#include "service/plan_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "advice/cost.hpp"
#include "base/on_cores.hpp"
#include "service/estimate.hpp"
#include "service/json.hpp"

namespace forerun {
namespace {

constexpr std::size_t kShown = 10;

// Layouts with one of these share a graph.
using GraphKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
GraphKey key_of(const Candidate& c) {
  return {c.degrees.tensor, c.degrees.context, c.degrees.expert, c.step.micro_batch};
}

std::string memory_problem(const Candidate& c, const PlannedStep& step, const Device& device) {
  return fmt::format("needs {:.1f} GB of {:.1f} GB at best (tensor {}, pipeline {}, data {}, zero {}, micro-batch {})",
                     step.memory.device_total_mb / 1024, device.memory_gib, c.degrees.tensor, c.degrees.pipeline,
                     c.degrees.data, c.step.zero, c.step.micro_batch);
}

PlannedLayout describe(const Candidate& candidate, const PlannedStep& step, double samples, double tokens,
                       std::optional<double> usd_per_hour) {
  PlannedLayout p;
  p.layout = candidate;
  p.times = step.times;
  p.memory = step.memory;
  p.step_ms = step.times.total_ms;
  p.samples_per_s = samples * 1e3 / p.step_ms;
  p.memory_mb = step.memory.device_total_mb;
  p.mfu = step.times.mfu;
  if (tokens > 0) p.tokens_per_s = p.samples_per_s * tokens;
  p.usd_per_hour = usd_per_hour;
  if (usd_per_hour) p.usd_per_million = *usd_per_hour / 3600 / p.samples_per_s * 1e6;
  return p;
}

PlanSpace space_of(const Request& request, const PlaceOfRequest& place) {
  PlanSpace space;
  space.devices = place.devices;
  space.link_domain = place.cluster.system.link_domain;
  space.heads = place.heads;
  space.layers = place.layers;
  space.experts = place.experts;
  space.training = request.train;
  space.batch = request.parallel.global_batch.value_or(request.binding.batch.value_or(place.devices));
  space.sequence = request.binding.seq.value_or(1);
  return space;
}

struct GraphCosts {
  RankCosts rank;
  Workload workload;
};
Result<GraphCosts> cost_graph(Workspace& workspace, const Request& request, const Network& network, const GraphKey& key,
                              const Device& device) {
  Request one = request;
  one.is_transient = true;
  one.parallel.cluster.reset();
  one.binding.shard = {};
  std::tie(one.binding.shard.tensor, one.binding.shard.context, one.binding.shard.expert, std::ignore) = key;
  one.binding.batch = std::get<3>(key);
  if (request.train && !network.is_fixed_graph() && !one.binding.phase) one.binding.phase = Phase::Forward;
  FORERUN_TRY(const std::shared_ptr<const Plan> plan, workspace.plan_of(one));
  GraphCosts costs;
  costs.workload = plan->workload;
  const Runtime runtime = costs.workload.runtime = runtime_of(request);
  const RooflineEstimate roofline = estimate_roofline(*plan, costs.workload, device);
  const double host_time = reference_host().time[std::size_t(run_kind_of(*plan->graph, costs.workload))];
  const RooflineEstimate sums =
      eager_on_host(roofline, roofline.host_ms * host_time / request.host_speed.value_or(1), device);
  costs.rank = split_rank(*plan->graph, plan->kernels, roofline, sums.latency_ms(runtime) * 1e3, plan->memory,
                          sums.power_w(runtime));
  return costs;
}

std::optional<double> price_of(const PlaceOfRequest& place, const Device& device, const std::string& kind) {
  if (place.cluster.system.price && kind == "on_demand")
    return place.cluster.system.price->usd_per_hour * double(place.cluster.nodes);
  const auto price = find_price(device.id, kind);
  return price ? std::optional(price->usd_per_hour * double(place.devices)) : std::nullopt;
}

// The fastest that fit, and why others do not.
void rank_layouts(const std::vector<Candidate>& candidates, const std::vector<std::optional<PlannedStep>>& steps,
                  const Request& request, const PlaceOfRequest& place, const Device& device, double samples,
                  double tokens, LayoutReport& report) {
  std::vector<std::size_t> fitting;
  std::int64_t too_large = 0, too_slow = 0;
  std::size_t nearest = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!steps[i]) continue;
    if (!steps[i]->fits) {
      if (too_large++ == 0 || steps[i]->memory.device_total_mb < steps[nearest]->memory.device_total_mb) nearest = i;
    } else if (request.max_latency_ms && steps[i]->times.total_ms > *request.max_latency_ms) {
      ++too_slow;
    } else {
      fitting.push_back(i);
    }
  }
  report.fitting = std::int64_t(fitting.size());
  const auto shown = std::min(kShown, fitting.size());
  const auto rank = [&](std::size_t i) {
    return std::pair(steps[i]->times.total_ms, steps[i]->memory.device_total_mb);
  };
  std::partial_sort(fitting.begin(), fitting.begin() + std::ptrdiff_t(shown), fitting.end(),
                    [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  const auto usd_per_hour = price_of(place, device, request.price);
  for (std::size_t i = 0; i < shown; ++i)
    report.best.push_back(describe(candidates[fitting[i]], *steps[fitting[i]], samples, tokens, usd_per_hour));
  if (too_large > 0)
    report.problems.push_back({memory_problem(candidates[nearest], *steps[nearest], device), too_large});
  if (too_slow > 0) report.problems.push_back({fmt::format("slower than {:g} ms", *request.max_latency_ms), too_slow});
}

}  // namespace

Result<LayoutReport> Estimator::plan_layouts(const Request& request, const Network& network,
                                             const Target& target) const {
  if (request.runtime == Runtime::Compiled)
    return bad_input("--runtime compiled: of one device; forerun plan lays a network out on several");
  const Device& device = target.device;
  FORERUN_TRY(const PlaceOfRequest place, place_request(request, network, device));
  const PlanSpace space = space_of(request, place);
  std::vector<Candidate> candidates = list_candidates(space);
  if (candidates.empty())
    return bad_input(fmt::format("no layout of {} devices divides a batch of {}; try another --global-batch",
                                 place.devices, space.batch));
  std::map<GraphKey, std::vector<std::size_t>> by_graph;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].step.lora_rank = request.parallel.step.lora_rank;
    candidates[i].step.offload_optimizer = request.parallel.step.offload_optimizer;
    candidates[i].step.schedule = request.parallel.step.schedule;
    by_graph[key_of(candidates[i])].push_back(i);
  }
  const std::vector<std::pair<GraphKey, std::vector<std::size_t>>> jobs(by_graph.begin(), by_graph.end());
  std::vector<std::optional<PlannedStep>> steps(candidates.size());
  std::vector<std::string> refusals(jobs.size());
  const CollectiveModel collectives(device, place.cluster);
  const StepFactors factors = request.train && !network.is_fixed_graph() ? step_factors(device) : StepFactors{};
  on_cores(jobs.size(), [&](std::size_t j) {
    const auto& [key, members] = jobs[j];
    const auto costs = cost_graph(workspace_, request, network, key, device);
    if (!costs) {
      refusals[j] = costs.error().message;
      return;
    }
    for (const std::size_t i : members) {
      steps[i] = plan_step(candidates[i], {costs->rank, costs->workload, device, collectives, factors,
                                           double(space.batch), request.parallel.input_samples_per_s});
    }
  });
  LayoutReport report;
  report.device = device.id;
  report.system = place.cluster.system.id;
  report.nodes = place.cluster.nodes;
  report.devices = place.devices;
  report.considered = std::int64_t(candidates.size());
  rank_layouts(candidates, steps, request, place, device, double(space.batch),
               network.is_fixed_graph() ? 0 : double(space.sequence), report);
  std::map<std::string, std::int64_t> problems;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (!refusals[j].empty()) problems[refusals[j]] += std::int64_t(jobs[j].second.size());
  }
  for (const auto& [why, count] : problems) report.problems.push_back({why, count});
  report.warnings = {"layouts are compared by analytic times; forerun predict answers one of them with the predictors"};
  if (place.cluster.is_assumed) report.warnings.emplace_back("no --system named: nodes of 8 are assumed");
  return report;
}

std::string to_json(const LayoutReport& report) {
  JsonWriter json;
  json.begin_object().field("device", report.device);
  if (!report.system.empty()) json.field("system", report.system);
  json.field("devices", report.devices).field("nodes", report.nodes).field("considered", report.considered);
  json.field("fitting", report.fitting).key("layouts").begin_array();
  for (const PlannedLayout& p : report.best) {
    const Parallelism& l = p.layout.degrees;
    const StepOptions& s = p.layout.step;
    json.begin_object().field("tensor_parallel", l.tensor).field("pipeline_parallel", l.pipeline);
    json.field("context_parallel", l.context).field("data_parallel", l.data).field("expert_parallel", l.expert);
    json.field("zero", std::int64_t(s.zero)).field("micro_batch", s.micro_batch);
    json.field("micro_batches", s.micro_batches).field("checkpointing", name_of(s.checkpointing));
    json.field("step_ms", p.step_ms).field("samples_per_s", p.samples_per_s).field("mfu", p.mfu);
    if (p.tokens_per_s) json.field("tokens_per_s", *p.tokens_per_s);
    json.field("device_memory_mb", p.memory_mb).field("communication_ms", p.times.communication_ms);
    json.field("bubble_ms", p.times.bubble_ms);
    if (p.usd_per_hour) json.field("usd_per_hour", *p.usd_per_hour).field("usd_per_million", *p.usd_per_million);
    json.end_object();
  }
  json.end_array().key("problems").begin_array();
  for (const LayoutProblem& problem : report.problems)
    json.begin_object().field("why", problem.why).field("layouts", problem.layouts).end_object();
  return json.end_array().texts("warnings", report.warnings).end_object().take();
}

}  // namespace forerun
