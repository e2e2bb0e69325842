// A discrete-event simulation of serving engines: requests arrive, wait, are scheduled step by step (continuous
// batching, chunked prefill, preemption when KV blocks run out), on replicas or on prefill and decode machines.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "serving/load.hpp"
#include "serving/step_times.hpp"

namespace forerun {

// What an engine's scheduler may put into one step.
struct SchedulerLimits {
  std::int64_t max_batch = 256;                                        // sequences that run at once
  std::int64_t step_tokens = 8192;                                     // tokens in one step
  std::int64_t block_tokens = 16;                                      // tokens of one KV block
  std::int64_t blocks = std::numeric_limits<std::int64_t>::max() / 4;  // KV blocks of one instance
  bool chunks_prompts = true;                                          // a prompt may be spread over several steps
  bool mixes_phases = true;  // prompts and decodes share a step; otherwise prompts go first
  // Share of the outputs that must fit, beside the prompt, when a request is admitted. 0: admit and preempt later;
  // 1: never preempt.
  double output_reserve = 0;
};

struct InstanceGroup {
  const StepTimes* times = nullptr;
  SchedulerLimits limits = {};
  std::int64_t count = 1;
  double idle_w = 0;  // of one instance
};

struct Deployment {
  InstanceGroup decode = {};
  InstanceGroup prefill = {.times = nullptr, .count = 0};  // without instances, `decode` runs prompts too
  double transfer_ms = 0, transfer_ms_per_token = 0;       // of a KV cache from prefill to decode
  bool streams_from_decode = false;  // disaggregated: the first token reaches the user from the decode instance
  double api_ms = 0;                 // HTTP, tokeniser and queue hand-over, before the scheduler sees a request
  double api_ms_per_token = 0;       // of the prompt
};

struct RequestTimes {
  double sent_ms = 0, first_token_ms = 0, done_ms = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  bool served = false;  // false: its caches do not fit at all
};

struct TokenGap {
  double ms = 0;
  std::int64_t tokens = 0;  // that came with this gap
};

struct SimulationResult {
  std::vector<RequestTimes> requests;  // in order of sending
  std::vector<TokenGap> gaps;
  double end_ms = 0;
  std::int64_t steps = 0, preemptions = 0, generated_tokens = 0;
  double mean_batch = 0;  // requests running on one (decode) instance, over time
  double mean_queue = 0;  // requests waiting on all instances
  double mean_kv_use = 0, peak_kv_use = 0;
  double energy_j = 0;
};

// REQUIRES: times of every group with instances; requests sorted by arrival. `concurrency`: most requests in flight.
[[nodiscard]] SimulationResult simulate(const Deployment& deployment, const std::vector<LoadRequest>& requests,
                                        std::int64_t concurrency = std::numeric_limits<std::int64_t>::max());

}  // namespace forerun
