// A serving question on one device: step table, KV capacity, simulation, summary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "service/serving_deployment.hpp"

namespace forerun {
namespace {

// The interval of the model and that of the load, which are independent.
void widen(ServingMetric& metric, double log_width) {
  if (metric.value <= 0) return;
  const double load = std::log1p((metric.high - metric.value) / metric.value);
  const double width = std::sqrt(log_width * log_width + load * load);
  metric.low = metric.value * std::exp(-width);
  metric.high = metric.value * std::exp(width);
}

}  // namespace

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

ServingReport simulate_serving(const ServingQuestion& question, const Device& device, const Engine& engine) {
  ServingReport report;
  report.engine = engine.name;
  report.version = engine.version;
  report.devices = question.devices();
  const ServingGroup& group = question.decode;
  const GroupTimes decode = times_of(group, device);
  GroupTimes prefill;
  std::optional<TimedGroup> prefills;
  if (question.prefill) {
    prefill = times_of(*question.prefill, device);
    prefills.emplace(*question.prefill, prefill);
  }
  const ServingDeployment made = deploy(question, device, engine, {group, decode}, prefills);
  const Deployment& deployment = made.deployment;
  const double length = std::max(1.0, question.load.input.mean + question.load.output.mean);
  report.kv_capacity_tokens = double(deployment.decode.limits.blocks * engine.block_tokens) * double(group.count);
  report.max_concurrency = group.count * requests_at_once(question, deployment.decode);
  const double own =
      double(question.load.concurrency.value_or(1)) / double(group.count) / double(group.layout.attention_data);
  report.usable_mb = usable_mb(engine, device);
  // All batches of a pipeline lie in the same memory, each with its stage's share of the caches.
  report.needed_mb = fixed_mb(group, engine, device) + std::max(1.0, own) * length * group.kv_mb_per_token;
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
  if (question.finds_rate && question.limits.any() && question.load.trace.empty())
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
