// Serving a language model: the passes a request needs, and time to first token, time per output token and throughput
// from their estimates. Formulas of continuous batching; no pass is estimated here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

struct RequestMix {
  std::int64_t input_tokens = 512, output_tokens = 128;
  std::int64_t in_flight = 1;
};

// The passes to estimate: a prompt's prefill, a decode step half way through the outputs, one with all caches full.
enum class ServingPass : std::uint8_t { Prefill, Decode, Full, Count };
// `like`: the request's binding; phase, batch and sequence are replaced.
[[nodiscard]] Binding bind_pass(ServingPass pass, const RequestMix& mix, const Binding& like);

struct PassEstimate {  // of one pass on one device, or on several together
  Estimate latency_ms, energy_j, device_memory_mb;
};
using ServingPasses = std::array<PassEstimate, std::size_t(ServingPass::Count)>;

// The metrics of MetricScope::Serving.
[[nodiscard]] Estimates estimate_serving(const RequestMix& mix, const ServingPasses& passes);

}  // namespace forerun
