#include "serving/serving.hpp"

#include <algorithm>

namespace forerun {
namespace {

// Fitted to vLLM: a prompt waits for about ten decode steps (queue, scheduler, streaming) and for a twentieth of the
// other prompts: in a closed loop of ten rounds, the requests of the first round arrive together.
constexpr double kWaitSteps = 10, kWaitPrompts = 1.0 / 20;

// formula(a, b) with its interval. For a decreasing formula the ends of the arguments' intervals are exchanged. Basis
// and predictor are those of `b`.
template <typename Formula>
Estimate join(const Estimate& a, const Estimate& b, const Formula& formula, bool falls = false) {
  const double low = formula(a.low, b.low), high = formula(a.high, b.high);
  return {formula(a.value, b.value), falls ? high : low, falls ? low : high, b.basis, b.predictor};
}

}  // namespace

Binding bind_pass(ServingPass pass, const RequestMix& mix, const Binding& like) {
  Binding binding = like;
  if (pass == ServingPass::Prefill) {
    binding.phase = Phase::Prefill;
    binding.batch = 1;
    binding.seq = mix.input_tokens;
    binding.last_logits_only = true;  // servers compute logits of the last position only
    return binding;
  }
  binding.phase = Phase::Decode;
  binding.batch = mix.in_flight;
  binding.seq = mix.input_tokens +
                (pass == ServingPass::Full ? mix.output_tokens : std::max<std::int64_t>(1, mix.output_tokens / 2));
  return binding;
}

Estimates estimate_serving(const RequestMix& mix, const ServingPasses& passes) {
  const PassEstimate& first = passes[std::size_t(ServingPass::Prefill)];
  const PassEstimate& next = passes[std::size_t(ServingPass::Decode)];
  const double tokens = double(mix.output_tokens), others = double(mix.in_flight - 1),
               in_flight = double(mix.in_flight);
  const auto of_times = [&](const auto& formula, bool falls = false) {
    return join(first.latency_ms, next.latency_ms, formula, falls);
  };
  Estimates result;
  result.set(Metric::Ttft, first.latency_ms);
  result.set(Metric::Tpot, next.latency_ms);
  result.set(Metric::LoadedTtft, of_times([&](double ttft, double tpot) {
               return ttft * (1 + kWaitPrompts * others) + (others > 0 ? kWaitSteps * tpot : 0);
             }));
  result.set(Metric::LoadedTpot, of_times([&](double ttft, double tpot) { return tpot + others * ttft / tokens; }));
  result.set(Metric::RequestLatency,
             of_times([&](double ttft, double tpot) { return ttft + double(mix.output_tokens - 1) * tpot; }));
  result.set(
      Metric::TokenRate,
      of_times([&](double ttft, double tpot) { return tokens * 1e3 / (ttft + tokens * tpot / in_flight); }, true));
  result.set(Metric::EnergyPerToken, join(first.energy_j, next.energy_j, [&](double prompt, double step) {
               return prompt / tokens + step / in_flight;
             }));
  result.set(Metric::ServingMemory, passes[std::size_t(ServingPass::Full)].device_memory_mb);
  return result;
}

}  // namespace forerun
