// Layouts to choose from, and what one rank of each does, sliced out of one graph per tensor, context and expert degree
// and micro-batch: thousands of layouts share a few dozen graphs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/step.hpp"

namespace forerun {

struct PlanSpace {
  std::int64_t devices = 1, link_domain = 8;
  std::int64_t heads = 0, layers = 0, experts = 0;  // heads 0: layers cannot be divided
  std::int64_t sequence = 1;
  std::int64_t batch = 1;  // of all devices
  bool training = false;
};

struct Candidate {
  Parallelism degrees;
  StepOptions step;
};
// Every layout that divides devices, heads, layers' count and batch. Order: the same for the same space.
[[nodiscard]] std::vector<Candidate> list_candidates(const PlanSpace& space);

// One graph's rank, layer by layer. `ends`: what runs before the first and after the last layer.
struct RankCosts {
  StageWork layers, ends;  // sums; messages are those of `layers`
  MemoryFacts memory;
  MemoryEstimate estimate;  // of the same, for the workspace
  double ends_parameters = 0;
  double adapters_per_rank = 0;  // of LoRA of rank 1
};
[[nodiscard]] RankCosts split_rank(const Graph& graph, const std::vector<Kernel>& kernels,
                                   const RooflineEstimate& roofline, double latency_us, const MemoryFacts& memory,
                                   double power_w);

struct PlannedStep {
  StepBreakdown times;
  RankMemory memory;  // of the rank that needs most
  bool fits = false;
};
struct PlannerInput {
  const RankCosts& costs;
  const Workload& workload;
  const Device& device;
  const CollectiveModel& collectives;
  StepFactors factors;
  double samples = 1;
  std::optional<double> input_samples_per_s;
};
[[nodiscard]] PlannedStep plan_step(const Candidate& candidate, const PlannerInput& input);

}  // namespace forerun
