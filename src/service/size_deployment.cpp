#include "service/size_deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace forerun {
namespace {

constexpr std::int64_t kTrialRequests = 300;
constexpr std::int64_t kAloneRequests = 24;  // too few to wait for each other at kAloneRate
constexpr double kAloneRate = 0.01;          // requests a second
constexpr double kOptimism = 1.4;            // of capacity_per_s against what is served within limits, at least
constexpr int kMostTries = 10;

double prompt_ms(const StepTimes& times, double tokens) {
  return times.dense_ms(tokens) + times.prompt_attention_ms(tokens);
}

// The largest batch that one instance holds, and whose step keeps `most_ms`.
double largest_batch(const InstanceGroup& group, double length, double context, std::optional<double> most_ms) {
  const double blocks_each = std::ceil(length / double(group.limits.block_tokens));
  double batch = std::min(double(group.limits.max_batch), std::floor(double(group.limits.blocks) / blocks_each));
  const auto step_ms = [&](double b) {
    return group.times->step_ms({.decodes = std::int64_t(b), .context_tokens = b * context});
  };
  while (most_ms && batch > 1 && step_ms(batch) > *most_ms) batch = std::floor(batch / 1.1);
  return std::max(1.0, batch);
}

// Requests a second that one instance can at most serve.
double capacity_per_s(const InstanceGroup& group, const Load& load, std::optional<double> most_ms, bool runs_prompts) {
  const double context = load.input.mean + load.output.mean / 2;
  const double batch = largest_batch(group, load.input.mean + load.output.mean, context, most_ms);
  const double step = group.times->step_ms({.decodes = std::int64_t(batch), .context_tokens = batch * context});
  const double ms = step * load.output.mean / batch + (runs_prompts ? prompt_ms(*group.times, load.input.mean) : 0);
  return 1e3 / std::max(1e-6, ms);
}

// Why not even requests that are alone keep the limits; empty: they do.
std::string problem_alone(const Deployment& deployment, const Load& load, const LatencyLimits& limits) {
  Load alone = load;
  alone.requests = kAloneRequests;
  alone.requests_per_s = kAloneRate;
  const SimulationResult result = run_load(deployment, alone);
  const LoadCheck check = check_load(result, limits);
  if (check.keeps_all) return {};
  return check.keeps_ttft ? "slower per output token than the limit, even alone"
                          : "slower to the first token than the limit, even alone";
}

bool keeps_with(const Deployment& deployment, const Load& load, const LatencyLimits& limits, std::int64_t instances) {
  Load share = load;
  share.requests = kTrialRequests;
  share.requests_per_s = *load.requests_per_s / double(instances);
  return check_load(run_load(deployment, share), limits).keeps_all;
}

std::string too_many(std::int64_t most) { return fmt::format("needs more than {} instances", most); }

}  // namespace

SizedDeployment size_instances(const Deployment& deployment, const Load& load, const LatencyLimits& limits,
                               std::int64_t most) {
  SizedDeployment sized{deployment, {}, problem_alone(deployment, load, limits)};
  if (!sized.problem.empty()) return sized;
  const std::int64_t stages = deployment.decode.count;
  const double each = capacity_per_s(deployment.decode, load, limits.tpot_ms, true) * double(stages);
  std::int64_t low = 0, high = std::max<std::int64_t>(1, std::int64_t(*load.requests_per_s / each / kOptimism));
  // Each instance gets its share of the requests: `low` instances do not keep the limits, `high` do.
  while (high <= most && !keeps_with(deployment, load, limits, high)) {
    low = high;
    high = std::max(high + 1, std::int64_t(double(high) * 1.5));
  }
  while (high - low > std::max<std::int64_t>(1, low / 32)) {
    const std::int64_t middle = low + (high - low) / 2;
    (keeps_with(deployment, load, limits, middle) ? high : low) = middle;
  }
  // All of them together, where a request goes to the least busy one.
  for (int tries = 0; tries < kMostTries && high <= most && !deployment.cancel.stopped(); ++tries) {
    sized.deployment.decode.count = stages * high;
    sized.result = run_load(sized.deployment, load);
    if (check_load(sized.result, limits).keeps_all) return sized;
    high += std::max<std::int64_t>(1, high / 32);
  }
  sized.problem = too_many(most);
  return sized;
}

SizedDeployment size_disaggregated(const Deployment& deployment, const Load& load, const LatencyLimits& limits,
                                   std::int64_t most) {
  SizedDeployment sized{deployment, {}, problem_alone(deployment, load, limits)};
  if (!sized.problem.empty()) return sized;
  const double rate = *load.requests_per_s;
  const auto instances = [&](double each) {
    return std::max<std::int64_t>(1, std::int64_t(std::min(1e6, std::ceil(rate / each))));
  };
  std::int64_t& prefill = sized.deployment.prefill.count;
  std::int64_t& decode = sized.deployment.decode.count;
  prefill = instances(1e3 / std::max(1e-6, prompt_ms(*deployment.prefill.times, load.input.mean)));
  decode = instances(capacity_per_s(deployment.decode, load, limits.tpot_ms, false));
  const auto grow = [](std::int64_t& count) { count = std::max(count + 1, std::int64_t(double(count) * 1.2)); };
  for (int tries = 0; tries < kMostTries && prefill + decode <= most && !deployment.cancel.stopped(); ++tries) {
    sized.result = run_load(sized.deployment, load);
    const LoadCheck check = check_load(sized.result, limits);
    if (check.keeps_all) return sized;
    if (!check.keeps_tpot) grow(decode);
    if (!check.keeps_ttft || check.keeps_tpot) grow(prefill);
  }
  sized.problem = too_many(most);
  return sized;
}

}  // namespace forerun
