// Batch, requests in flight, and devices that share the network.
#include <fmt/format.h>

#include "advice/optimise/proposal.hpp"

namespace forerun {

void propose_batch(const Situation& situation, std::vector<Proposal>& proposals) {
  if (situation.serves()) return;
  const auto propose = [&](std::int64_t batch, std::string why) {
    proposals.push_back({"",
                         fmt::format("batch {} instead of {}", batch, situation.batch),
                         std::move(why),
                         {{"batch", fmt::format("{}", batch)}}});
  };
  const bool wants_less = situation.goal == Goal::Memory || !situation.advice.fits;
  for (std::int64_t divisor = 2; wants_less && divisor <= 16 && situation.batch / divisor >= 1; divisor *= 2)
    propose(situation.batch / divisor, "activations shrink with the batch");
  if (situation.goal == Goal::Latency || situation.goal == Goal::Memory) return;
  const double idle = situation.share(situation.time.host + situation.time.launch + situation.time.waves);
  for (std::int64_t factor = 2; factor <= 64; factor *= 2) {
    propose(situation.batch * factor,
            fmt::format("launches and partly filled waves take {:.0f} % of the time and grow little with the batch",
                        idle * 100));
  }
}

void propose_concurrency(const Situation& situation, std::vector<Proposal>& proposals) {
  if (!situation.serves() || situation.goal == Goal::Latency) return;
  const auto propose = [&](std::int64_t in_flight, const char* why) {
    proposals.push_back({"",
                         fmt::format("{} requests in flight instead of {}", in_flight, situation.in_flight),
                         why,
                         {{"concurrency", fmt::format("{}", in_flight)}}});
  };
  if (situation.goal == Goal::Memory || !situation.advice.fits) {
    for (std::int64_t divisor = 2; divisor <= 16 && situation.in_flight / divisor >= 1; divisor *= 2)
      propose(situation.in_flight / divisor, "each request in flight holds a KV cache");
    return;
  }
  for (std::int64_t factor = 2; factor <= 32; factor *= 2)
    propose(situation.in_flight * factor, "a decoding step reads the weights once for all requests in flight");
}

void propose_sharing(const Situation& situation, std::vector<Proposal>& proposals) {
  const bool is_wanted = situation.goal == Goal::Latency || situation.goal == Goal::Memory || !situation.advice.fits;
  if (!is_wanted || situation.devices > 1 || !situation.heads) return;
  for (std::int64_t devices = 2; devices <= 8; devices *= 2) {
    if (*situation.heads % devices != 0 || situation.kv_heads.value_or(devices) % devices != 0) continue;
    proposals.push_back({"",
                         fmt::format("{} {} share each layer", devices, situation.device.name),
                         "each device reads its share of the weights and the KV cache",
                         {{"tensor-parallel", fmt::format("{}", devices)}}});
  }
}

void propose_optimizer(const Situation& situation, std::vector<Proposal>& proposals) {
  const Optimizer now = situation.workload.optimizer;
  if (!situation.workload.training || (now != Optimizer::Adam && now != Optimizer::AdamW)) return;
  proposals.push_back({"",
                       fmt::format("SGD with momentum instead of {}", name_of(now)),
                       "it keeps one state for each parameter instead of two",
                       {{"optimizer", "sgd"}},
                       nullptr,
                       Risk::Architecture});
}

}  // namespace forerun
