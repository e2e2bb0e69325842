#include "parallel/layout.hpp"

#include <gtest/gtest.h>

#include "parallel/planner.hpp"

namespace forerun {
namespace {

TEST(Layout, DevicesWithoutALayoutMeanTensorInsideALinkDomainAndCopiesBeyond) {
  EXPECT_EQ(choose_layout(8, {}, 32, 8)->tensor, 8);
  EXPECT_EQ(choose_layout(8, {}, 0, 8)->data, 8);
  EXPECT_EQ(choose_layout(512, {}, 32, 8)->tensor, 8);
  EXPECT_EQ(choose_layout(512, {}, 32, 8)->data, 64);
  EXPECT_EQ(choose_layout(6, {}, 32, 8)->tensor, 2);
  EXPECT_EQ(choose_layout(8, {.tensor = 4, .data = 2}, 32, 8)->devices(), 8);
}
TEST(Layout, DevicesThatAreLeftOverAreCopies) {
  EXPECT_EQ(choose_layout(64, {.tensor = 8, .pipeline = 2}, 32, 8)->data, 4);
}
TEST(Layout, RefusesDegreesThatDoNotMultiplyToTheDevices) {
  EXPECT_FALSE(choose_layout(8, {.tensor = 3}, 32, 8));
  EXPECT_FALSE(choose_layout(1, {.data = 1 << 20}, 32, 8));
  EXPECT_FALSE(choose_layout(1, {.tensor = std::int64_t{1} << 40, .data = std::int64_t{1} << 40}, 32, 8));
}
TEST(Layout, ExpertsAreSpreadOverCopies) {
  EXPECT_EQ(choose_layout(8, {.data = 8, .expert = 4}, 32, 8)->expert, 4);
  EXPECT_FALSE(choose_layout(8, {.data = 8, .expert = 3}, 32, 8));
}
TEST(Layout, RefusesMoreStagesThanLayers) {
  EXPECT_TRUE(check_layout(true, 32, {.pipeline = 32}));
  EXPECT_FALSE(check_layout(true, 32, {.pipeline = 33}));
}
TEST(Layout, FilesAllowCopiesOnly) {
  EXPECT_TRUE(check_layout(false, 0, {.data = 8}));
  EXPECT_FALSE(check_layout(false, 0, {.tensor = 2}));
  EXPECT_FALSE(check_layout(false, 0, {.context = 2}));
}
TEST(Layout, TheLargestShareOfTheBatchDecidesTheStep) {
  EXPECT_EQ(largest_share(9, 8), 2);
  EXPECT_EQ(largest_share(8, 8), 1);
  EXPECT_EQ(largest_share(4, 8), 1);
}
TEST(Layout, StagesHoldEveryLayerOnce) {
  for (const std::int64_t stages : {1, 2, 3, 5, 8, 31, 32}) {
    std::int64_t layers = 0, count = 0;
    for (const StageShare& stage : list_stages({.pipeline = stages}, 32)) {
      count += stage.stages;
      EXPECT_GE(stage.shard.layers, stages == 1 ? 0 : 1);
      layers = std::max(layers, stage.shard.first_layer + stage.shard.layers);
    }
    EXPECT_EQ(count, stages);
    if (stages > 1) {
      EXPECT_EQ(layers, 32) << stages;
    }
  }
}

TEST(Candidates, UseAllDevicesAndDivideWhatTheyShare) {
  const PlanSpace space{.devices = 32, .heads = 32, .layers = 32, .sequence = 8192, .batch = 256, .training = true};
  const auto list = list_candidates(space);
  EXPECT_GT(list.size(), 500U);
  for (const Candidate& c : list) {
    EXPECT_EQ(c.degrees.devices(), 32);
    EXPECT_EQ(32 % c.degrees.tensor, 0);
    EXPECT_LE(c.degrees.tensor, 8);
    EXPECT_EQ(c.degrees.data * c.step.micro_batch * c.step.micro_batches, 256);
  }
}
TEST(Candidates, OfFilesAreCopies) {
  for (const Candidate& c : list_candidates({.devices = 8, .batch = 64, .training = true}))
    EXPECT_EQ(c.degrees.data, 8);
}

}  // namespace
}  // namespace forerun
