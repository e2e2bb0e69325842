// Serving questions of language models: first token, every next one, requests in flight, the largest batch that fits.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "records/estimate.hpp"
#include "service/request.hpp"

namespace forerun {

struct PassEstimate {  // of one pass on one device (or group of devices)
  Estimate latency_ms, energy_j, device_memory_mb;
};
using EstimatePass = std::function<Result<PassEstimate>(const Request& request)>;

// What the numbers mean is said in docs/llm.md and beside them in the table:
//   ttft_ms            prefill of one request's prompt
//   tpot_ms            one decode step of all requests in flight, at the middle of their outputs
//   loaded_ttft_ms     the same when the other requests in flight are served in between (continuous batching)
//   loaded_tpot_ms     time between a request's tokens, others' prefills included
//   request_latency_ms ttft + (output tokens - 1) x tpot
//   tokens_per_s       generated tokens of all requests, prefills included
//   energy_per_token_j energy of a request's prefill and its share of the decode steps, by generated token
// One of these as a short sentence; empty for other metrics.
[[nodiscard]] std::string_view meaning_of(std::string_view metric);
Result<Estimates> estimate_serving(const Request& request, const EstimatePass& pass);

// Largest batch (at the request's sequence) and longest sequence (at its batch) whose device memory fits the budget.
Result<std::map<std::string, double>> estimate_capacity(const Request& request, double budget_mb,
                                                        const EstimatePass& pass);

}  // namespace forerun
