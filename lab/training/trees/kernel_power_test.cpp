#include "predictors/trees/kernel_power.hpp"

#include <gtest/gtest.h>

#include <random>

#include "training/trees/kernel_power_training.hpp"

namespace forerun {
namespace {

TEST(PassPower, IsSharedBetweenKernelsAndWaiting) {
  EXPECT_DOUBLE_EQ(pass_power_w({1, 4}, 500), (500 + 3 * kWaitPowerW) / 4);
  EXPECT_DOUBLE_EQ(pass_power_w({4, 4}, 500), 500);
  EXPECT_DOUBLE_EQ(pass_power_w({5, 4}, 500), 500) << "kernels that are said to take longer than the pass fill it";
  EXPECT_DOUBLE_EQ(pass_power_w({1, 4, kWaitPowerW + 10}, 500), pass_power_w({1, 4}, 500) + 10)
      << "a board's own watts, whatever it does";
}

TEST(KernelPower, EnergyIsPowerTimesThePassAsItWasCounted) {
  TreeInput input;
  input.kernel_ms = 2;
  const CountedPass eager = counted_pass(input, RunMetric::Energy, 3, 1.5);
  EXPECT_DOUBLE_EQ(eager.kernel_ms, 1.5) << "a vision network's replay is its kernels";
  EXPECT_DOUBLE_EQ(eager.period_ms, 3 + kCounterReadMs);
  EXPECT_DOUBLE_EQ(energy_or_power(RunMetric::Energy, eager, 400),
                   energy_or_power(RunMetric::Power, eager, 400) * eager.period_ms / 1e3);
  input.counted.counter_ms = 0;
  EXPECT_DOUBLE_EQ(counted_pass(input, RunMetric::Energy, 3, 1.5).period_ms, 3);
  input.counted = counted(input.counted, true);
  EXPECT_DOUBLE_EQ(counted_pass(input, RunMetric::Power, 3, 1.5).period_ms, 3 * kUnevenSteps)
      << "the median of steps is not their mean";
  input.domain = RunKind::LanguageInference;
  const CountedPass replay = counted_pass(input, RunMetric::PowerGraph, 3, 3);
  EXPECT_DOUBLE_EQ(replay.kernel_ms, 2);
  EXPECT_DOUBLE_EQ(replay.period_ms, 3 + kReplayGapMs);
  EXPECT_EQ(latency_metric(RunKind::VisionTraining, RunMetric::Power), RunMetric::Step);
  EXPECT_EQ(latency_metric(RunKind::LanguageInference, RunMetric::EnergyGraph), RunMetric::LatencyGraph);
}

// Passes of two kinds of kernels (fact 0: their class) that draw 200 and 600 W, on hosts that make them wait more or
// less.
TreeRows made_up(std::size_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  TreeRows rows;
  for (std::size_t i = 0; i < count; ++i) {
    TreeInput input;
    input.domain = RunKind::VisionTraining;
    input.facts.assign(2 * kernel_fact_count(), 1);
    input.facts[0] = 3;
    input.facts[kernel_fact_count()] = 11;
    input.ideal_us = input.kernel_us = {1e3 * uniform(random), 1e3 * uniform(random)};
    input.kernel_ms = (input.kernel_us[0] + input.kernel_us[1]) / 1e3;
    const double period_ms = input.kernel_ms + 2 * uniform(random);
    const double millijoules = (200 * input.kernel_us[0] + 600 * input.kernel_us[1]) / 1e3 +
                               input.counted.wait_w * (period_ms - input.kernel_ms);
    Example example;
    example.metrics = {{std::string(kEnergy), millijoules / 1e3}, {std::string(kPower), millijoules / period_ms}};
    rows.examples.push_back(std::move(example));
    rows.inputs.push_back(std::move(input));
  }
  return rows;
}

TEST(KernelPower, ReadingsOverWholePassesTeachWhatEachKernelDraws) {
  const TreeRows rows = made_up(300);
  const std::vector<PowerReading> readings = power_readings(rows);
  ASSERT_EQ(readings.size(), 300U);
  const auto trees = train_kernel_power(rows, readings, 1, 3 * kPowerRounds);
  ASSERT_TRUE(trees) << trees.error().message;
  const Forest forest(*trees);
  for (std::size_t i = 0; i < 20; ++i) {
    const TreeInput& input = rows.inputs[i];
    const double busy_w = (200 * input.kernel_us[0] + 600 * input.kernel_us[1]) / (1e3 * input.kernel_ms);
    EXPECT_NEAR(busy_power_w(input, forest) / busy_w, 1, 0.05);
  }
}

TEST(KernelPower, NothingMeasuredTeachesNothing) {
  TreeRows rows;
  EXPECT_FALSE(train_kernel_power(rows, power_readings(rows), 1));
}

}  // namespace
}  // namespace forerun
