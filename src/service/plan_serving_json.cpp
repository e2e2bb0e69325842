// `forerun plan --serve` as JSON.
#include "service/json.hpp"
#include "service/plan_serving.hpp"

namespace forerun {
namespace {

void write_deployment(JsonWriter& json, const PlannedDeployment& d) {
  json.begin_object().field("device", d.device).field("devices", d.devices()).field("engine", d.engine);
  json.field("engine_version", d.version);
  if (d.precision) json.field("precision", name_of(*d.precision));
  json.field("usd_per_hour", d.usd_per_hour).field("usd_per_million_tokens", d.usd_per_million);
  json.field("is_on_front", d.is_on_front).key("instances").begin_array();
  for (const PlannedInstances& group : d.groups) {
    json.begin_object().field("role", name_of(group.role)).field("instances", group.instances);
    json.field("tensor_parallel", group.tensor).field("pipeline_parallel", group.pipeline);
    json.field("attention_data_parallel", group.attention_data);
    if (!group.command.empty()) json.field("command", group.command);
    json.end_object();
  }
  json.end_array();
  write_serving_metrics(json, d.metrics);
  json.end_object();
}

}  // namespace

std::string to_json(const ServingPlan& plan) {
  JsonWriter json;
  json.begin_object().field("network", plan.network).field("rate", plan.rate);
  json.field("input_tokens", plan.input.mean).field("output_tokens", plan.output.mean);
  if (plan.limits.ttft_ms) json.field("slo_ttft_ms", *plan.limits.ttft_ms);
  if (plan.limits.tpot_ms) json.field("slo_tpot_ms", *plan.limits.tpot_ms);
  json.field("considered", plan.considered).field("keeping", plan.keeping).key("deployments").begin_array();
  for (const PlannedDeployment& found : plan.found) write_deployment(json, found);
  json.end_array().key("problems").begin_array();
  for (const LayoutProblem& problem : plan.problems)
    json.begin_object().field("why", problem.why).field("layouts", problem.layouts).end_object();
  return json.end_array().texts("warnings", plan.warnings).end_object().take();
}

std::string to_json(const PlanReport& report) {
  return std::visit([](const auto& one) { return to_json(one); }, report);
}

}  // namespace forerun
