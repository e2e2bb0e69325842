#include "records/metric.hpp"

#include <algorithm>
#include <array>

namespace forerun {
namespace {

constexpr MetricScope kPass = MetricScope::Pass, kServing = MetricScope::Serving;
constexpr Better kLower = Better::Lower, kHigher = Better::Higher;

// clang-format off
constexpr std::array<MetricSpec, std::size_t(Metric::Count)> kMetrics = {{
    {Metric::Latency, "latency_ms", "latency", "ms", kPass, kLower,
     "one pass over the whole batch, or one training step, device synchronised before and after"},
    {Metric::Throughput, "throughput_per_s", "throughput", "/s", kPass, kHigher, "samples per second at this batch"},
    {Metric::Memory, "memory_mb", "allocator peak", "MB", kPass, kLower, "peak bytes held by the framework's allocator"},
    {Metric::DeviceMemory, "device_memory_mb", "device memory", "MB", kPass, kLower,
     "what the whole process occupies on the device"},
    {Metric::Energy, "energy_j", "energy", "J", kPass, kLower, "board energy of one pass or step"},
    {Metric::Power, "power_w", "power", "W", kPass, kLower, "mean board power while passes run back to back"},
    {Metric::Ttft, "ttft_ms", "first token", "ms", kServing, kLower, "time to first token under the load, waiting included; mean"},
    {Metric::Tpot, "tpot_ms", "next token", "ms", kServing, kLower,
     "time between a request's output tokens under the load; mean"},
    {Metric::LoadedTtft, "loaded_ttft_ms", "first token, loaded", "ms", kServing, kLower,
     "the same as ttft_ms"},
    {Metric::LoadedTpot, "loaded_tpot_ms", "next token, loaded", "ms", kServing, kLower,
     "the same as tpot_ms"},
    {Metric::RequestLatency, "request_latency_ms", "request", "ms", kServing, kLower,
     "from sending a request to its last token; mean"},
    {Metric::TokenRate, "tokens_per_s", "tokens", "/s", kServing, kHigher,
     "generated tokens of all requests on all devices"},
    {Metric::EnergyPerToken, "energy_per_token_j", "energy per token", "J", kServing, kLower,
     "energy of all devices, idle time included, by generated token"},
    {Metric::ServingMemory, "serving_memory_mb", "serving memory", "MB", kServing, kLower,
     "what the engine needs on one device: weights, activations, and the KV caches of the requests in flight"},
}};
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    if (kMetrics[i].metric != Metric(i)) return false;
  }
  return true;
}
static_assert(in_order(), "every Metric needs one row in kMetrics, in the enum's order");

}  // namespace

std::span<const MetricSpec> all_metrics() { return kMetrics; }
const MetricSpec& spec_of(Metric metric) { return kMetrics[std::size_t(metric)]; }

std::optional<Metric> parse_metric(std::string_view key) {
  const auto found = std::find_if(kMetrics.begin(), kMetrics.end(), [&](const MetricSpec& s) { return s.key == key; });
  return found == kMetrics.end() ? std::nullopt : std::optional(found->metric);
}

}  // namespace forerun
