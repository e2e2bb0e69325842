// A serving question's instances on one device with one engine, ready to be simulated.
#pragma once

#include <memory>
#include <vector>

#include "service/serving_question.hpp"
#include "serving/pass_parts.hpp"

namespace forerun {

// Passes of a group, timed on a device: the same for every engine.
struct GroupTimes {
  std::vector<PassParts> decodes, prompts;
};
[[nodiscard]] GroupTimes times_of(const ServingGroup& group, const Device& device);

struct ServingDeployment {
  std::unique_ptr<StepTimes> decode_times, prefill_times;  // `deployment` points to them
  Deployment deployment;
};
// A group without its kernels is enough, once they were timed.
struct TimedGroup {
  const ServingGroup& group;
  const GroupTimes& times;
};
// `prefill` absent: one kind of instance.
[[nodiscard]] ServingDeployment deploy(const ServingQuestion& question, const Device& device, const Engine& engine,
                                       const TimedGroup& decode, const std::optional<TimedGroup>& prefill);

// Of one device: what an engine may hold, and what weights, activations, CUDA graphs and context take of it.
[[nodiscard]] double usable_mb(const Engine& engine, const Device& device);
[[nodiscard]] double fixed_mb(const ServingGroup& group, const Engine& engine, const Device& device);

// Requests of the load's mean length whose caches fit on one instance.
[[nodiscard]] std::int64_t requests_at_once(const ServingQuestion& question, const InstanceGroup& instances);

// The intervals of an engine's model, joined with the load's.
void add_intervals(ServingSummary& summary, const Engine& engine);

}  // namespace forerun
