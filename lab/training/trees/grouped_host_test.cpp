#include <gtest/gtest.h>

#include "training/trees/tree_trainer.hpp"

namespace forerun {
namespace {

// Convolutions of 16 channels in few groups take one call; of 56 channels a launch for every group.
Kernel convolution(double channels, double groups) {
  Kernel kernel;
  kernel.kernel_class = KernelClass::Conv;
  kernel.groups = groups;
  kernel.input_channels = kernel.output_channels = channels * groups;
  kernel.kernel_area = 9;
  return kernel;
}

TEST(GroupedHost, LaunchesOfEveryGroupCountInTheEagerEstimate) {
  std::vector<OperatorRows> operators;
  for (int repeat = 0; repeat < 40; ++repeat) {
    for (const double channels : {16.0, 56.0}) {
      for (const double groups : {2.0, 4.0, 8.0, 16.0}) {
        OperatorRows row;
        row.facts.resize(kernel_fact_count());
        row.grouped = 0;
        row.host_us = channels > 50 ? 30 * groups : kUsualHostUs;
        extract_kernel_facts(convolution(channels, groups), Device{}, false, row.facts);
        operators.push_back(std::move(row));
      }
    }
  }
  operators.emplace_back();  // another operator
  const auto trained = train_grouped_host(operators);
  ASSERT_TRUE(trained) << trained.error().message;
  const Forest forest(*trained);
  const auto factor = [&](double channels) {
    TreeInput input;
    input.facts.resize(kernel_fact_count());
    extract_kernel_facts(convolution(channels, 16), Device{}, false, input.facts);
    input.grouped = {{0, 3 / 1000.0}};  // three calls of 1 µs of host time each
    input.kernel_ms = 1e-6;
    input.host_ms = 1;
    time_grouped_host(input, forest);
    time_grouped_host(input, forest);  // the second time like the first
    EXPECT_NEAR(tree_base(input, RunMetric::LatencyEager), input.host_factor, 1e-9);
    EXPECT_DOUBLE_EQ(tree_base(input, RunMetric::LatencyGraph), input.kernel_ms);
    return input.host_factor;
  };
  EXPECT_NEAR(factor(16), 1, 0.03);
  EXPECT_NEAR(factor(56), 1 + 3 * (16 * 30 - kUsualHostUs) / 1000, 0.1);
  EXPECT_TRUE(train_grouped_host({})->roots.empty());
}

TEST(GroupedHost, DepthwiseConvolutionsAndGradientsAreNone) {
  EXPECT_TRUE(in_groups(convolution(8, 4)));
  EXPECT_FALSE(in_groups(convolution(8, 1)));
  EXPECT_FALSE(in_groups(convolution(1, 32)));
  Kernel gradient = convolution(8, 4);
  gradient.stage = Stage::Backward;
  EXPECT_FALSE(in_groups(gradient));
}

}  // namespace
}  // namespace forerun
