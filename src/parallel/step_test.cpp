#include "parallel/step.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "devices/catalogue.hpp"

namespace forerun {
namespace {

struct StepSetup {
  Device device = *Catalogue::load()->find("h100-sxm");
  Cluster cluster;
  Workload workload;
  StageWork stage;
  MemoryFacts facts;
  StepSetup() {
    cluster.system = *find_system("dgx-h100");
    cluster.nodes = 64;
    cluster.fabric = *find_fabric("infiniband-ndr");
    workload.training = true;
    workload.optimizer = Optimizer::AdamW;
    workload.precision = Precision::Bf16;
    stage.forward_us = 10e3;
    stage.backward_us = 20e3;
    stage.update_us = 1e3;
    stage.layers_forward_us = 9e3;
    stage.scores_forward_us = 1e3;
    stage.weight_gradient_us = 8e3;
    stage.macs = 1e12;
    stage.parameters = 1e9;
    stage.boundary_bytes = 1e7;
    stage.layers = 32;
    stage.power_w = 600;
    facts.weight_bytes = 2e9;
    facts.parameters = 1e9;
    facts.peak_bytes = 12e9;
    facts.saved_bytes = 6e9;
    facts.has_products = true;
    facts.activation_peak_bytes = 7e9;
    facts.layers_saved_bytes = 5.5e9;
    facts.scores_saved_bytes = 1e9;
    facts.largest_layer_saved_bytes = 5.5e9 / 32;
    facts.layer_input_bytes = 2e7;
    facts.largest_layer_parameters = 3e7;
    facts.layers = 32;
  }
  StepBreakdown times(const Parallelism& layout, const StepOptions& options, std::optional<double> input = {}) const {
    const CollectiveModel collectives(device, cluster);
    StageWork work = stage;
    work.stages = double(layout.pipeline);
    return combine_stages({{work}, layout, options, workload, device, collectives, Exchange::Nccl, 1e7, input, {}, 64});
  }
  RankMemory memory(const Parallelism& layout, const StepOptions& options, std::int64_t stage_index = 0) const {
    return rank_memory({facts, {}, workload, device, layout, options, stage_index, 1e7, 0});
  }
};

TEST(Step, OneDeviceIsItsKernels) {
  const StepBreakdown t = StepSetup().times({}, {});
  EXPECT_DOUBLE_EQ(t.total_ms, 31);
  EXPECT_EQ(t.communication_ms, 0);
  EXPECT_EQ(t.bubble_ms, 0);
}
TEST(Step, PartsAddUpToTheStep) {
  for (const int zero : {0, 1, 2, 3}) {
    const StepBreakdown t = StepSetup().times({.pipeline = 2, .data = 16}, {.zero = zero, .micro_batches = 8}, 10.0);
    EXPECT_NEAR(t.total_ms, t.compute_ms + t.communication_ms + t.bubble_ms + t.update_ms + t.input_ms, 1e-9);
  }
}
TEST(Step, TheBubbleShrinksWithMicroBatches) {
  const StepSetup s;
  const auto share = [&](std::int64_t micro_batches) {
    const StepBreakdown t = s.times({.pipeline = 8}, {.micro_batches = micro_batches});
    return t.bubble_ms / t.total_ms;
  };
  EXPECT_GT(share(1), 0.8);  // (p - 1) / p of the time
  EXPECT_GT(share(8), share(64));
  const StepBreakdown t = s.times({.pipeline = 8}, {.micro_batches = 8});
  EXPECT_NEAR(t.bubble_ms, 7 * t.compute_ms / 8, 0.2 * t.bubble_ms);
}
TEST(Step, RecomputationCostsTheForwardPassOfTheLayers) {
  const StepSetup s;
  EXPECT_NEAR(s.times({}, {.checkpointing = Checkpointing::Full}).total_ms, 31 + 9, 1e-9);
  EXPECT_NEAR(s.times({}, {.checkpointing = Checkpointing::Selective}).total_ms, 31 + 1, 1e-9);
}
TEST(Step, CopiesPayForTheirGradientsAndMoreSoAcrossNodes) {
  const StepSetup s;
  const double one = s.times({}, {}).total_ms, node = s.times({.data = 8}, {}).total_ms,
               nodes = s.times({.data = 64}, {}).total_ms;
  EXPECT_GT(node, one);
  EXPECT_GT(nodes, node);
}
TEST(Step, AdaptersNeedNoGradientsOfFrozenWeights) {
  const StepSetup s;
  EXPECT_LT(s.times({}, {.lora_rank = 16}).total_ms, s.times({}, {}).total_ms - 7);
}
TEST(Step, TheInputPipelineCapsTheStepAndSaysSo) {
  const StepBreakdown t = StepSetup().times({.data = 8}, {}, 100.0);
  EXPECT_TRUE(t.waits_for_input);
  EXPECT_DOUBLE_EQ(t.total_ms, 640);
  EXPECT_FALSE(t.warnings.empty());
  EXPECT_FALSE(StepSetup().times({.data = 8}, {}, 1e9).waits_for_input);
}
TEST(Step, ModelFlopsAreASixthPerParameterAndSample) {
  const StepBreakdown t = StepSetup().times({}, {});
  EXPECT_NEAR(t.mfu, 6e12 / 1e12 / (t.total_ms / 1e3) / 989.4, 1e-9);
}

TEST(RankMemory, EveryZeroStageDividesMore) {
  const StepSetup s;
  double before = 1e300;
  for (const int zero : {0, 1, 2, 3}) {
    const RankMemory m = s.memory({.data = 8}, {.zero = zero});
    EXPECT_LT(m.total_mb, before) << zero;
    before = m.total_mb;
  }
}
TEST(RankMemory, OfWeightsGradientsAndStateIsSixteenBytesAParameter) {
  constexpr double kMb = 1048576;
  const RankMemory m = StepSetup().memory({.data = 8}, {});
  EXPECT_NEAR(m.at(MemoryPart::Weights) + m.at(MemoryPart::Gradients) + m.at(MemoryPart::Optimizer), 16e9 / kMb, 1);
  const RankMemory divided = StepSetup().memory({.data = 8}, {.zero = 3});
  EXPECT_NEAR(
      8 * (divided.at(MemoryPart::Weights) + divided.at(MemoryPart::Gradients) + divided.at(MemoryPart::Optimizer)),
      16e9 / kMb, 1);
}
TEST(RankMemory, CheckpointingKeepsLess) {
  const StepSetup s;
  const auto activations = [&](Checkpointing c) {
    return s.memory({}, {.checkpointing = c}).at(MemoryPart::Activations);
  };
  EXPECT_LT(activations(Checkpointing::Selective), activations(Checkpointing::None));
  EXPECT_LT(activations(Checkpointing::Full), activations(Checkpointing::Selective));
}
TEST(RankMemory, OneForwardOneBackwardHoldsAsManyMicroBatchesAsStages) {
  const StepSetup s;
  const StepOptions many{.micro_batches = 64};
  StepOptions gpipe = many;
  gpipe.schedule = Schedule::GPipe;
  EXPECT_LT(s.memory({.pipeline = 4}, many).total_mb, s.memory({.pipeline = 4}, gpipe).total_mb);
  EXPECT_GT(s.memory({.pipeline = 4}, many, 0).total_mb, s.memory({.pipeline = 4}, many, 3).total_mb);
}
TEST(RankMemory, AMovedOptimizerLiesInTheHost) {
  const RankMemory m = StepSetup().memory({}, {.offload_optimizer = true});
  EXPECT_EQ(m.at(MemoryPart::Optimizer), 0);
  EXPECT_NEAR(m.host_mb, 12e9 / 1048576, 1);
}
TEST(RankMemory, AdaptersKeepStateOfThemselvesAlone) {
  const RankMemory m = StepSetup().memory({}, {.lora_rank = 16});
  EXPECT_NEAR(m.at(MemoryPart::Optimizer), 12e7 / 1048576, 1);
  EXPECT_NEAR(m.at(MemoryPart::Weights), (2e9 + 2e7) / 1048576, 1);
}

}  // namespace
}  // namespace forerun
