// One pass or training step of all ranks, from the passes of the pipeline's stages and the messages between ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "graph/graph.hpp"
#include "parallel/collectives.hpp"
#include "parallel/layout.hpp"
#include "parallel/rank_memory.hpp"
#include "records/kernel_terms.hpp"

namespace forerun {

// What one rank of a stage does for one micro-batch.
struct StageWork {
  double forward_us = 0, backward_us = 0;
  double update_us = 0;          // of all of the rank's weights
  double layers_forward_us = 0;  // the part of forward_us that full checkpointing runs again
  double scores_backward_us = 0;
  double scores_forward_us = 0;       // … and selective checkpointing
  double weight_gradient_us = 0;      // the part of backward_us that frozen weights do not need
  double macs = 0;                    // forward
  std::vector<RankMessage> messages;  // of one forward pass
  double parameters = 0, expert_parameters = 0;
  double boundary_bytes = 0;  // handed to the next stage
  double layers = 0;
  double power_w = 0;  // while it works
  std::int64_t first_stage = 0;
  double stages = 1;  // that are alike
};
// Sums over the rank's kernels; `terms` are the times of the predictor that answered.
[[nodiscard]] StageWork sum_stage(const Graph& graph, const std::vector<Kernel>& kernels,
                                  const std::vector<KernelTerms>& terms);
// The same with analytic times only, for planners, which ask too often for a learned predictor.
[[nodiscard]] StageWork sum_stage(const Graph& graph, const std::vector<Kernel>& kernels,
                                  const RooflineEstimate& roofline, double latency_us);

// Factors on a rank's kernels in training on several devices, against the same kernels alone: clocks under the power
// limit, hooks of the framework. data/parallel/steps.json.
struct StepFactors {
  double kernels = 1, attention = 1;
};
// Of the device's architecture, else the mean of those that were measured. Attention has the other kernels' factor: the
// measured one is that of older kernels than the predictors know.
[[nodiscard]] StepFactors step_factors(const Device& device);
// With the attention that the factors were measured with (llm-foundry in 2023).
[[nodiscard]] StepFactors measured_step_factors(const Device& device);

struct StepInput {
  const std::vector<StageWork>& stages;  // at least one
  const Parallelism& layout;
  const StepOptions& options;
  const Workload& workload;
  const Device& device;
  const CollectiveModel& collectives;
  Exchange exchange = Exchange::Nccl;
  double adapter_parameters = 0;              // of LoRA, of the whole network
  std::optional<double> input_samples_per_s;  // what the hosts deliver to all devices
  StepFactors factors;
  double samples = 1;  // of all replicas in one step
};

// Where a step's time goes, in ms. The parts add up to total_ms.
struct StepBreakdown {
  double compute_ms = 0, communication_ms = 0, bubble_ms = 0, update_ms = 0, input_ms = 0;
  double total_ms = 0;
  double attention_ms = 0;             // the part of compute_ms in attention
  double hidden_communication_ms = 0;  // overlapped with compute
  double energy_j = 0, power_w = 0;    // of all devices
  double mfu = 0;
  bool waits_for_input = false;
  std::vector<std::string> warnings;
};
[[nodiscard]] StepBreakdown combine_stages(const StepInput& input);

// Weights that low-rank adapters of this rank add to a network's linear layers.
[[nodiscard]] double adapter_parameters(const Graph& graph, std::int64_t rank);

}  // namespace forerun
