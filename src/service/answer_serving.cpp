// A serving question on one device: step table, KV capacity, simulation, summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predictors/roofline/roofline.hpp"
#include "service/serving_question.hpp"

namespace forerun {
namespace {

constexpr double kSendShare = 0.75;  // of a link's rate that a KV cache is sent at

struct GroupTimes {
  std::vector<PassParts> decodes, prompts;
};

GroupTimes times_of(const ServingGroup& group, const Device& device) {
  GroupTimes times;
  for (const PassKernels& pass : group.decodes) times.decodes.push_back(sum_parts(pass, group.layout, device));
  for (const PassKernels& pass : group.prompts) {
    times.prompts.push_back(sum_parts(pass, group.layout, device));
    times.prompts.back().context *= double(group.layout.attention_data);
    times.prompts.back().attention *= double(group.layout.attention_data);  // grows with the square of the tokens
  }
  return times;
}

// The CUDA context and loaded modules.
double engine_context_mb(const Device& device) { return estimate_memory({}, {}, device).device_total_mb; }

// What an engine may hold on one device, and what is left of it for caches.
double usable_mb(const Engine& engine, const Device& device) {
  const double all = device.memory_gib * 1024;
  return engine.share_is_of_free_memory ? all : all * engine.memory_share;
}
double cache_mb(const ServingGroup& group, const Engine& engine, const Device& device) {
  const double fixed = group.weights_mb + group.activations_mb + engine.graph_pool_mb + engine_context_mb(device);
  const double left = usable_mb(engine, device) - fixed;
  return std::max(0.0, engine.share_is_of_free_memory ? left * engine.memory_share : left);
}

InstanceGroup instances_of(const ServingGroup& group, const Engine& engine, const Device& device,
                           const StepTimes& times) {
  InstanceGroup instances{.times = &times, .limits = limits_of(engine), .count = group.count};
  // Data-parallel attention: every group has its own batch and KV cache; the simulation takes them as one of their sum.
  instances.limits.max_batch *= group.layout.attention_data;
  instances.limits.step_tokens *= group.layout.attention_data;
  const double block_mb = std::max(1e-9, group.kv_mb_per_token * double(engine.block_tokens));
  instances.limits.blocks =
      std::int64_t(cache_mb(group, engine, device) * double(group.layout.attention_data) / block_mb);
  instances.idle_w = device.idle_power_w.value_or(0.15 * device.power_limit_w) * double(group.layout.devices());
  return instances;
}

// The interval of the model and that of the load, which are independent.
void widen(ServingMetric& metric, double log_width) {
  if (metric.value <= 0) return;
  const double load = std::log1p((metric.high - metric.value) / metric.value);
  const double width = std::sqrt(log_width * log_width + load * load);
  metric.low = metric.value * std::exp(-width);
  metric.high = metric.value * std::exp(width);
}

void add_intervals(ServingSummary& summary, const Engine& engine) {
  const EngineIntervals& i = engine.intervals;
  const std::pair<std::string_view, double> widths[] = {{"ttft_ms", i.ttft},
                                                        {"tpot_ms", i.tpot},
                                                        {"itl_ms", i.tpot},
                                                        {"request_latency_ms", i.tpot},
                                                        {"requests_per_s", i.rate},
                                                        {"tokens_per_s", i.rate},
                                                        {"tokens_per_s_per_device", i.rate},
                                                        {"goodput_per_s", i.rate},
                                                        {"energy_per_token_j", i.rate + 0.2}};
  for (ServingMetric& metric : summary.metrics) {
    for (const auto& [key, width] : widths) {
      if (metric.key == key) widen(metric, width);
    }
  }
}

double send_ms_per_token(const ServingQuestion& question, const ServingGroup& group, const Device& device) {
  const double one_way =
      device.interconnect.gb_per_s ? *device.interconnect.gb_per_s / 2 : device.interconnect.pcie_gb_per_s.value_or(16);
  const double length = std::max(1.0, question.load.input.mean + question.load.output.mean);
  const double mb = question.kv_mb_per_request / length / double(group.layout.kv_shards);
  return mb * 1048576 / (one_way * kSendShare * 1e6);
}

}  // namespace

ServingReport simulate_serving(const ServingQuestion& question, const Device& device, const Engine& engine) {
  ServingReport report;
  report.engine = engine.name;
  report.version = engine.version;
  report.devices = question.devices();
  const GroupTimes decode = times_of(question.decode, device);
  const StepTimes decode_times = make_step_times(decode.decodes, decode.prompts, engine);
  Deployment deployment;
  deployment.cancel = question.cancel;
  deployment.decode = instances_of(question.decode, engine, device, decode_times);
  deployment.streams_from_decode = engine.streams_from_decode;
  deployment.api_ms = engine.host.api_ms;
  deployment.api_serial_ms = engine.host.api_serial_ms;
  deployment.api_serial_ms_per_token = engine.host.api_serial_ms_per_1k_tokens / 1e3;
  std::optional<StepTimes> prefill_times;
  if (question.prefill) {
    const GroupTimes prefill = times_of(*question.prefill, device);
    prefill_times.emplace(make_step_times(prefill.decodes, prefill.prompts, engine));
    deployment.prefill = instances_of(*question.prefill, engine, device, *prefill_times);
    deployment.transfer_ms = engine.transfer_ms;
    deployment.transfer_ms_per_token = send_ms_per_token(question, *question.prefill, device);
  }
  const ServingGroup& group = question.decode;
  const double length = std::max(1.0, question.load.input.mean + question.load.output.mean);
  const double blocks_each = std::ceil(length / double(engine.block_tokens));
  report.kv_capacity_tokens = double(deployment.decode.limits.blocks * engine.block_tokens) * double(group.count);
  report.max_concurrency = group.count * std::min(std::int64_t(double(deployment.decode.limits.blocks) / blocks_each),
                                                  deployment.decode.limits.max_batch);
  const double own =
      double(question.load.concurrency.value_or(1)) / double(group.count) / double(group.layout.attention_data);
  report.usable_mb = usable_mb(engine, device);
  // All batches of a pipeline lie in the same memory, each with its stage's share of the caches.
  report.needed_mb = group.weights_mb + group.activations_mb + engine.graph_pool_mb + engine_context_mb(device) +
                     std::max(1.0, own) * length * group.kv_mb_per_token;
  if (report.max_concurrency < 1) {
    report.warnings.push_back(
        fmt::format("{}: weights and one request of {:.0f} tokens need {:.0f} MB of the {:.0f} MB "
                    "that {} may use on a device",
                    device.id, length, report.needed_mb, report.usable_mb, engine.name));
    return report;
  }
  const SimulationResult result = run_load(deployment, question.load);
  if (question.cancel.stopped()) return report;
  ServingSummary summary = summarise(result, question.load, question.limits, question.devices());
  add_intervals(summary, engine);
  report.saturated = summary.saturated;
  report.metrics = std::move(summary.metrics);
  report.steps = result.steps;
  report.preemptions = result.preemptions;
  if (question.limits.any() && question.load.trace.empty())
    report.highest_rate = highest_rate(deployment, question.load, question.limits);
  return report;
}

Result<ServingReport> answer_serving(const ServingQuestion& question, const Device& device) {
  std::vector<std::string> warnings;
  FORERUN_TRY(const Engine engine, find_engine(question.engine, question.version, device, warnings));
  ServingReport report = simulate_serving(question, device, engine);
  FORERUN_CHECK(question.cancel.check());
  report.warnings.insert(report.warnings.begin(), warnings.begin(), warnings.end());
  const std::int64_t clients = question.load.concurrency.value_or(0);
  if (report.max_concurrency > 0 && clients > report.max_concurrency)
    report.warnings.push_back(fmt::format("the KV caches of {} requests fit at once; the other {} wait",
                                          report.max_concurrency, clients - report.max_concurrency));
  if (report.saturated)
    report.warnings.push_back(
        "saturated: requests come faster than they are served, so the queue and the latency grow "
        "without end; requests_per_s is what is served");
  if (report.preemptions > 0)
    report.warnings.push_back(
        fmt::format("{} preemptions: KV blocks ran out while requests were running", report.preemptions));
  return report;
}

}  // namespace forerun
