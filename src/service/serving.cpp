#include "service/serving.hpp"

#include <algorithm>

namespace forerun {
namespace {

constexpr std::int64_t kMostBatch = 1 << 16;
constexpr std::int64_t kMostTokens = 1 << 22;

// The largest value in [1, most] whose pass fits; 0 when not even 1 does. Memory grows with the value.
Result<std::int64_t> largest_fitting(std::int64_t most, const std::function<Result<bool>(std::int64_t)>& fits) {
  FORERUN_TRY(const bool any, fits(1));
  if (!any) return std::int64_t{0};
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high <= most) {
    FORERUN_TRY(const bool ok_here, fits(high));
    if (!ok_here) break;
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > std::max<std::int64_t>(1, low / 256)) {
    const std::int64_t middle = low + (high - low) / 2;
    FORERUN_TRY(const bool ok_here, fits(middle));
    (ok_here ? low : high) = middle;
  }
  return low;
}

Estimate combine(double value, double low, double high, const Estimate& like) {
  return {value, low, high, like.basis, like.predictor};
}

}  // namespace

std::string_view meaning_of(std::string_view metric) {
  struct Row {
    std::string_view metric, meaning;
  };
  constexpr Row kRows[] = {
      {"ttft_ms", "prefill of one prompt"},
      {"tpot_ms", "one decode step of all requests in flight, half way through their outputs"},
      {"loaded_ttft_ms", "the prefill with its wait behind other requests, as vLLM runs them"},
      {"loaded_tpot_ms", "time between a request's tokens, others' prefills included"},
      {"request_latency_ms", "ttft + (output tokens - 1) x tpot"},
      {"tokens_per_s", "generated tokens of all requests, prefills included"},
      {"energy_per_token_j", "a request's prefill and its share of the decode steps, by generated token"},
      {"serving_memory_mb", "device memory with all caches full"},
  };
  for (const Row& row : kRows) {
    if (row.metric == metric) return row.meaning;
  }
  return {};
}

Result<Estimates> estimate_serving(const Request& request, const EstimatePass& pass) {
  const std::int64_t prompt = request.input_tokens.value_or(request.binding.seq.value_or(512));
  const std::int64_t output = request.output_tokens.value_or(128);
  const std::int64_t flights = request.concurrency.value_or(request.binding.batch.value_or(1));
  Request prefill = request;
  prefill.in_engine = request.runtime == Runtime::Graph;  // only engines replay a language model as one graph
  prefill.binding.phase = Phase::Prefill;
  prefill.binding.batch = 1;
  prefill.binding.seq = prompt;
  prefill.binding.last_logits_only = true;  // servers need the next token only
  FORERUN_TRY(const PassEstimate first, pass(prefill));
  Request decode = request;
  decode.in_engine = prefill.in_engine;
  decode.binding.phase = Phase::Decode;
  decode.binding.batch = flights;
  decode.binding.seq = prompt + std::max<std::int64_t>(1, output / 2);
  FORERUN_TRY(const PassEstimate next, pass(decode));
  Request full = decode;
  full.binding.seq = prompt + output;
  FORERUN_TRY(const PassEstimate last, pass(full));

  Estimates result;
  result["ttft_ms"] = first.latency_ms;
  result["tpot_ms"] = next.latency_ms;
  // Other requests' prefills come between one's tokens. A prompt waits for about ten decode steps (queue, scheduler and
  // streaming of vLLM), and for a twentieth of the other prompts: of ten rounds of a closed loop the first comes all at
  // once.
  constexpr double kWaitSteps = 10, kWaitPrompts = 1.0 / 20;
  const auto between = [&](double ttft, double tpot) { return tpot + double(flights - 1) * ttft / double(output); };
  const auto until_first = [&](double ttft, double tpot) {
    return ttft * (1 + kWaitPrompts * double(flights - 1)) + (flights > 1 ? kWaitSteps * tpot : 0);
  };
  const auto loaded = [&](const auto& formula) {
    const Estimate &t = first.latency_ms, &p = next.latency_ms;
    return combine(formula(t.value, p.value), formula(t.low, p.low), formula(t.high, p.high), p);
  };
  result["loaded_ttft_ms"] = loaded(until_first);
  result["loaded_tpot_ms"] = loaded(between);
  const double steps = double(output - 1);
  const auto total = [&](double a, double b) { return a + steps * b; };
  result["request_latency_ms"] =
      combine(total(first.latency_ms.value, next.latency_ms.value), total(first.latency_ms.low, next.latency_ms.low),
              total(first.latency_ms.high, next.latency_ms.high), next.latency_ms);
  const auto rate = [&](double ttft, double tpot) {
    return double(output) * 1e3 / (ttft + double(output) * tpot / double(flights));
  };
  result["tokens_per_s"] =
      combine(rate(first.latency_ms.value, next.latency_ms.value), rate(first.latency_ms.high, next.latency_ms.high),
              rate(first.latency_ms.low, next.latency_ms.low), next.latency_ms);
  const auto energy = [&](double a, double b) { return a / double(output) + b / double(flights); };
  result["energy_per_token_j"] =
      combine(energy(first.energy_j.value, next.energy_j.value), energy(first.energy_j.low, next.energy_j.low),
              energy(first.energy_j.high, next.energy_j.high), next.energy_j);
  result["serving_memory_mb"] = last.device_memory_mb;
  return result;
}

Result<std::map<std::string, double>> estimate_capacity(const Request& request, double budget_mb,
                                                        const EstimatePass& pass) {
  std::map<std::string, double> result;
  const auto fits = [&](const Request& trial) -> Result<bool> {
    FORERUN_TRY(const PassEstimate estimate, pass(trial));
    return estimate.device_memory_mb.value <= budget_mb;
  };
  Request trial = request;
  FORERUN_TRY(const std::int64_t batch, largest_fitting(kMostBatch, [&](std::int64_t n) {
                trial.binding.batch = n;
                return fits(trial);
              }));
  result["largest_batch"] = double(batch);
  if (request.binding.seq || request.binding.phase) {
    Request longer = request;
    FORERUN_TRY(const std::int64_t tokens, largest_fitting(kMostTokens, [&](std::int64_t n) {
                  longer.binding.seq = n;
                  return fits(longer);
                }));
    result["longest_sequence"] = double(tokens);
  }
  return result;
}

}  // namespace forerun
