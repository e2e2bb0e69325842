// A pass or a training step on several devices: every kind of pipeline stage is written out, lowered and predicted as
// one rank runs it; parallel/ puts them together.
#include <fmt/format.h>

#include <algorithm>

#include "parallel/step.hpp"
#include "predictors/kernel_times.hpp"
#include "predictors/roofline/roofline_predictor.hpp"
#include "service/estimate.hpp"

namespace forerun {
namespace {

void add_missing(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& text : more) {
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  }
}

// `value` with the relative interval of another estimate.
Estimate with_interval_of(const Estimate& like, double value) {
  const double base = like.value > 0 ? like.value : 1;
  return {value, value * like.low / base, value * like.high / base, like.basis, like.predictor};
}

std::string describe_layout(const Parallelism& l) {
  std::string text;
  for (const auto& [name, degree] : {std::pair("tensor", l.tensor), std::pair("pipeline", l.pipeline),
                                     std::pair("context", l.context), std::pair("data", l.data)}) {
    if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, degree);
  }
  return text.empty() ? "1" : text;
}

void say_assumptions(const Cluster& cluster, const Device& device, const Parallelism& layout,
                     const CollectiveModel& collectives, std::vector<std::string>& warnings) {
  if (layout.devices() <= 1) return;
  warnings.push_back(fmt::format("{} devices ({}): memory is one device's, power and energy are all devices'",
                                 layout.devices(), describe_layout(layout)));
  if (cluster.is_assumed) {
    warnings.push_back(fmt::format("no --system named: nodes of {} {} are assumed{}", cluster.system.gpus_per_node,
                                   device.id,
                                   cluster.nodes > 1 && cluster.fabric
                                       ? fmt::format(", {} cards of {} each between {} nodes",
                                                     cluster.system.nics_per_node, cluster.fabric->name, cluster.nodes)
                                       : ""));
  }
  std::int64_t stride = 1;
  for (const std::int64_t degree : {layout.tensor, layout.context, layout.data, layout.pipeline}) {
    if (degree > 1) {
      const std::string beyond = collectives.beyond_data(collectives.group_of(degree, stride));
      if (!beyond.empty()) add_missing(warnings, {beyond});
    }
    stride *= degree;
  }
}

bool is_written_out(const Plan& plan) { return plan.graph->origin.form == GraphForm::WrittenOut; }

double largest_message(const Graph& graph) {
  double bytes = 0;
  for (const RankMessage& exchange : graph.messages) bytes = std::max(bytes, exchange.bytes);
  return bytes;
}

ParallelReport start_report(const ParallelRequest& p, const Cluster& cluster) {
  ParallelReport report;
  report.layout = p.degrees;
  report.step = p.step;
  report.system = cluster.system.id;
  report.fabric = cluster.fabric && cluster.nodes > 1 ? cluster.fabric->id : "";
  report.nodes = cluster.nodes;
  if (cluster.system.price) report.instance_usd_per_hour = cluster.system.price->usd_per_hour;
  return report;
}

StageWork work_of(const Plan& plan, const Answer& answer, const RooflineEstimate& roofline, const StageShare& stage,
                  const Parallelism& layout) {
  StageWork work = answer.kernels.empty() ? sum_stage(*plan.graph, plan.kernels, roofline,
                                                      answer.estimates.at(Metric::Latency).value * 1e3)
                                          : sum_stage(*plan.graph, plan.kernels, answer.kernels);
  work.expert_parameters = plan.memory.expert_parameters;
  work.first_stage = stage.first_stage;
  work.stages = double(stage.stages);
  work.power_w = answer.estimates.at(Metric::Power).value;
  if (work.boundary_bytes == 0 || stage.first_stage + stage.stages >= layout.pipeline)
    work.boundary_bytes = plan.memory.layer_input_bytes;
  return work;
}

}  // namespace

Result<Estimator::Pass> Estimator::estimate_ranks(const Request& request, const Device& device, bool explain) const {
  const ParallelRequest& p = request.parallel;
  const Cluster& cluster = *p.cluster;
  const CollectiveModel collectives(device, cluster);
  Pass pass;
  ParallelReport report = start_report(p, cluster);
  std::vector<StageWork> works;
  std::vector<std::string> warnings;
  double longest = 0, adapters = 0, most_memory = 0;
  Workload workload;
  for (const StageShare& stage : list_stages(p.degrees, p.layers)) {
    Request one = request;
    one.binding.shard = stage.shard;
    one.parallel.cluster.reset();
    FORERUN_TRY(const std::shared_ptr<const Plan> plan, workspace_.plan_of(one));
    FORERUN_TRY(Pass rank, predict_plan(*plan, one, device, explain && works.empty()));
    workload = plan->workload;
    workload.runtime = runtime_of(request);
    StageWork work = work_of(*plan, rank.answer, rank.roofline, stage, p.degrees);
    const double stage_adapters = p.step.lora_rank > 0 ? adapter_parameters(*plan->graph, p.step.lora_rank) : 0;
    adapters += stage_adapters * double(stage.stages);
    RankMemory memory = rank_memory({plan->memory, rank.roofline.memory, workload, device, p.degrees, p.step,
                                     stage.first_stage, stage_adapters, largest_message(*plan->graph)});
    if (!request.train) {
      memory.total_mb = rank.answer.estimates.at(Metric::Memory).value;
      memory.device_total_mb = rank.answer.estimates.at(Metric::DeviceMemory).value;
    }
    report.stages.push_back({stage.first_stage, stage.stages, memory});
    if (memory.device_total_mb > most_memory) {
      most_memory = memory.device_total_mb;
      report.memory = memory;
      pass.memory = with_interval_of(rank.answer.estimates.at(Metric::Memory), memory.total_mb);
      pass.device_memory = with_interval_of(rank.answer.estimates.at(Metric::DeviceMemory), memory.device_total_mb);
    }
    add_missing(warnings, plan->warnings);
    add_missing(warnings, rank.answer.warnings);
    const double busy = work.forward_us + work.backward_us;
    works.push_back(std::move(work));
    if (pass.plan && busy <= longest) continue;
    longest = busy;
    pass.answer = std::move(rank.answer);
    pass.roofline = std::move(rank.roofline);
    pass.effects = std::move(rank.effects);
    pass.plan = plan;
  }
  const Exchange how = runtime_of(request) == Runtime::Graph ? Exchange::Engine : Exchange::Nccl;
  const double samples = double(request.whole_batch.value_or(request.binding.batch.value_or(1) * p.degrees.data));
  // Factors are of language models' training on several devices; one device was measured itself.
  const bool has_factors = request.train && p.degrees.devices() > 1 && is_written_out(*pass.plan);
  const StepFactors factors = has_factors ? p.factors.value_or(step_factors(device)) : StepFactors{};
  report.times = combine_stages({works, p.degrees, p.step, workload, device, collectives, how, adapters,
                                 p.input_samples_per_s, factors, samples});
  report.samples_per_s = samples * 1e3 / report.times.total_ms;
  if (const auto& run = pass.plan->graph->written_run)
    report.tokens_per_s = report.samples_per_s * (run->phase == Phase::Decode ? 1.0 : double(run->sequence));
  Estimates& e = pass.answer.estimates;
  e.set(Metric::Latency, with_interval_of(e.at(Metric::Latency), report.times.total_ms));
  e.set(Metric::Energy, with_interval_of(e.at(Metric::Energy), report.times.energy_j));
  e.set(Metric::Power, with_interval_of(e.at(Metric::Power), report.times.power_w));
  e.set(Metric::Memory, pass.memory);
  e.set(Metric::DeviceMemory, pass.device_memory);
  say_assumptions(cluster, device, p.degrees, collectives, warnings);
  add_missing(warnings, report.times.warnings);
  if (request.train && parameter_bytes(workload).weight < 4 && request.optimizer != Optimizer::None &&
      p.step.lora_rank == 0)
    warnings.emplace_back(
        "weights in 16 bits are trained with a copy in fp32 (master weights), counted as optimiser state");
  pass.answer.warnings = std::move(warnings);
  pass.parallel = std::move(report);
  return pass;
}

}  // namespace forerun
