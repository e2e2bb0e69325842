// What an engine's instances on a device come to: step tables, room for caches, what a simulation runs.
#include "service/serving_deployment.hpp"

#include <algorithm>
#include <cmath>

#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

constexpr double kSendShare = 0.75;  // of a link's rate that a KV cache is sent at

// The CUDA context and loaded modules.
double engine_context_mb(const Device& device) { return estimate_memory({}, {}, device).device_total_mb; }

// What is left for caches on one device.
double cache_mb(const ServingGroup& group, const Engine& engine, const Device& device) {
  const double left = usable_mb(engine, device) - fixed_mb(group, engine, device);
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

double send_ms_per_token(const ServingQuestion& question, const ServingGroup& group, const Device& device) {
  const double one_way =
      device.interconnect.gb_per_s ? *device.interconnect.gb_per_s / 2 : device.interconnect.pcie_gb_per_s.value_or(16);
  const double length = std::max(1.0, question.load.input.mean + question.load.output.mean);
  const double mb = question.kv_mb_per_request / length / double(group.layout.kv_shards);
  return mb * 1048576 / (one_way * kSendShare * 1e6);
}

}  // namespace

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

double usable_mb(const Engine& engine, const Device& device) {
  const double all = device.memory_gib * 1024;
  return engine.share_is_of_free_memory ? all : all * engine.memory_share;
}

double fixed_mb(const ServingGroup& group, const Engine& engine, const Device& device) {
  return group.weights_mb + group.activations_mb + engine.graph_pool_mb + engine_context_mb(device);
}

ServingDeployment deploy(const ServingQuestion& question, const Device& device, const Engine& engine,
                         const TimedGroup& decode, const std::optional<TimedGroup>& prefill) {
  ServingDeployment made;
  const auto table = [&](const GroupTimes& times) {
    return std::make_unique<StepTimes>(make_step_times(times.decodes, times.prompts, engine));
  };
  made.decode_times = table(decode.times);
  Deployment& deployment = made.deployment;
  deployment.cancel = question.cancel;
  deployment.decode = instances_of(decode.group, engine, device, *made.decode_times);
  deployment.streams_from_decode = engine.streams_from_decode;
  deployment.api_ms = engine.host.api_ms;
  deployment.api_serial_ms = engine.host.api_serial_ms;
  deployment.api_serial_ms_per_token = engine.host.api_serial_ms_per_1k_tokens / 1e3;
  if (prefill) {
    made.prefill_times = table(prefill->times);
    deployment.prefill = instances_of(prefill->group, engine, device, *made.prefill_times);
    deployment.transfer_ms = engine.transfer_ms;
    deployment.transfer_ms_per_token = send_ms_per_token(question, prefill->group, device);
  }
  return made;
}

std::int64_t requests_at_once(const ServingQuestion& question, const InstanceGroup& instances) {
  const double length = std::max(1.0, question.load.input.mean + question.load.output.mean);
  const double blocks_each = std::ceil(length / double(instances.limits.block_tokens));
  return std::min(std::int64_t(double(instances.limits.blocks) / blocks_each), instances.limits.max_batch);
}

}  // namespace forerun
