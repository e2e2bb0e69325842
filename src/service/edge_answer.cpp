#include "service/edge_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "service/estimate.hpp"

namespace forerun {
namespace {

// Options that ask for something else than a latency, or for another pass than the one that was measured.
struct Asked {
  std::string_view option;
  bool (*is_asked)(const Request& request);
};
constexpr std::array kNotKnown = {
    Asked{"--train", [](const Request& r) { return r.train; }},
    Asked{"--runtime", [](const Request& r) { return r.runtime.has_value(); }},
    Asked{"--host-speed", [](const Request& r) { return r.host_speed.has_value(); }},
    Asked{"--explain", [](const Request& r) { return r.explain; }},
    Asked{"--predictor", [](const Request& r) { return !r.predictor.empty() && r.predictor != kEdgeName; }},
    Asked{"--memory-budget", [](const Request& r) { return r.memory_budget_mb.has_value(); }},
    Asked{"--max-latency-ms", [](const Request& r) { return r.max_latency_ms.has_value(); }},
    Asked{"--steps", [](const Request& r) { return r.steps.has_value(); }},
    Asked{"--samples", [](const Request& r) { return r.samples.has_value(); }},
    Asked{"--pue", [](const Request& r) { return r.pue.has_value(); }},
    Asked{"--cloud", [](const Request& r) { return !r.cloud.empty(); }},
    Asked{"--region", [](const Request& r) { return !r.region.empty(); }},
    Asked{"--mig-rule", [](const Request& r) { return !r.mig_rule.empty(); }},
    Asked{"--store", [](const Request& r) { return !r.store.empty(); }},
    Asked{"--device-file", [](const Request& r) { return !r.device_file.empty(); }},
    Asked{"several devices", [](const Request& r) { return r.parallel.is_asked(); }},
    Asked{"a serving question", [](const Request& r) { return asks_for_serving(r); }},
};

const EdgePlatforms& all_platforms() {
  static const EdgePlatforms kPlatforms = EdgePlatforms::load();
  return kPlatforms;
}

}  // namespace

Result<const EdgePlatform*> edge_platform_of(const Request& request) {
  for (const std::string& name : request.devices) {
    const EdgePlatform* platform = all_platforms().find(name);
    if (platform == nullptr) continue;
    if (request.devices.size() > 1)
      return bad_input("device '" + name + "' is known by its latency alone: ask about it without other devices");
    return platform;
  }
  return nullptr;
}

Status check_edge_request(const Request& request, const EdgePlatform& platform) {
  for (const Asked& row : kNotKnown) {
    if (row.is_asked(request)) {
      return bad_input(fmt::format("device '{}': {} does not apply, only the latency of one pass is known of it",
                                   platform.id, row.option));
    }
  }
  return ok();
}

Result<DeviceResult> answer_edge(const EdgePlatform& platform, const Plan& plan, std::int64_t batch) {
  FORERUN_TRY(EdgeAnswer answer, predict_on_edge(platform, plan.kernels, plan.workload, batch));
  DeviceResult result;
  result.device = platform.id;
  result.warnings = plan.warnings;
  result.warnings.insert(result.warnings.end(), answer.warnings.begin(), answer.warnings.end());
  for (const std::string& problem : all_platforms().problems)
    result.warnings.push_back("a platform is left out: " + problem);
  result.warnings.emplace_back("memory, energy and price are not known there; whether it fits is not judged");
  const Estimate& latency = answer.latency;
  result.estimates.set(Metric::Latency, latency);
  result.estimates.set(Metric::Throughput, {double(batch) * 1e3 / latency.value, double(batch) * 1e3 / latency.high,
                                            double(batch) * 1e3 / latency.low, latency.basis, latency.predictor});
  result.breakdown = break_down(plan, answer.kernels, kBreakdownRows, nullptr);
  return result;
}

}  // namespace forerun
