#include "training/trees/network_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "features/kernel_facts.hpp"

namespace forerun {
namespace {

// Networks of two kinds of kernels (fact 0: their class): the second takes three times the roofline's time.
TreeRows made_up(std::size_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  TreeRows rows;
  for (std::size_t i = 0; i < count; ++i) {
    TreeInput input;
    input.domain = RunKind::LanguageInference;
    input.facts.assign(2 * kernel_fact_count(), 1);
    input.facts[0] = 3;
    input.facts[kernel_fact_count()] = 11;
    for (std::size_t c = 0; c < kernel_fact_count(); ++c) {
      if (kernel_fact_names()[c] == "device_log_sms") input.facts[c] = float(i);  // would tell every row by heart
    }
    input.roofline_us = {1e3 * uniform(random), 1e3 * uniform(random)};
    input.ideal_us = input.roofline_us;
    input.classes = {3, 11};
    Example example;
    example.metrics.emplace(kLatencyGraph, (input.roofline_us[0] + 3 * input.roofline_us[1]) / 1e3);
    rows.examples.push_back(std::move(example));
    rows.inputs.push_back(std::move(input));
  }
  return rows;
}

TEST(NetworkKernels, SumsTeachWhichKernelIsSlower) {
  TreeRows rows = made_up(400);
  std::vector<TeachingRun> train;
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    EXPECT_TRUE(teaches_kernels(rows.examples[i], rows.inputs[i]));
    train.push_back({&rows.examples[i], &rows.inputs[i]});
  }
  const auto trees = train_network_kernels(train);
  ASSERT_TRUE(trees) << trees.error().message;
  const Forest forest(*trees);
  for (std::size_t i = 0; i < 20; ++i) {
    TreeInput& input = rows.inputs[i];
    sum_network_kernels(input, forest);
    EXPECT_NEAR(input.kernel_ms / rows.examples[i].metrics.at(std::string(kLatencyGraph)), 1, 0.15);
    EXPECT_NEAR(input.class_share[11] * input.kernel_ms * 1e3, 3 * input.roofline_us[1],
                0.25 * 3 * input.roofline_us[1]);
  }
}

TEST(NetworkKernels, LearnNothingFromEagerTimesAlone) {
  Example example;
  TreeInput input;
  input.domain = RunKind::LanguageInference;
  example.metrics.emplace(kLatencyEager, 3);
  EXPECT_FALSE(teaches_kernels(example, input));
  EXPECT_FALSE(train_network_kernels({}));
}

// A pass on a device of that generation: host time 10 ms by the roofline, `factor` times as long in truth.
void add_pass(TreeRows& rows, double factor, double device_ms, float capability) {
  Example example;
  example.campaign = "table";
  example.metrics.emplace(kLatencyEager, 10 * factor);
  TreeInput input;
  input.host_ms = 10;
  input.device_ms = device_ms;
  input.facts.assign(kernel_fact_count(), capability);
  rows.examples.push_back(std::move(example));
  rows.inputs.push_back(std::move(input));
}

TEST(NetworkKernels, TheHostsSpeedIsTheMedianOfThePassesItDecides) {
  TreeRows rows;
  add_pass(rows, 1.4, 1, 6.1F);
  add_pass(rows, 1.5, 1, 6.1F);
  add_pass(rows, 9.0, 20, 6.1F);  // the device's own time
  const std::vector<std::size_t> all = {0, 1, 2};
  EXPECT_NEAR(host_factors(rows, all, 6).at("table"), 1.5, 1e-9);
}

TEST(NetworkKernels, ADevicesHostIsLikeThoseOfItsGeneration) {
  TreeRows rows;
  for (const double factor : {2.0, 2.1, 2.2}) add_pass(rows, factor, 1, 6.1F);
  add_pass(rows, 1.1, 1, 7.5F);
  const std::vector<std::size_t> all = {0, 1, 2, 3};
  EXPECT_EQ(generation_of(rows.inputs.front()), 6);
  EXPECT_NEAR(host_factors(rows, all, 7).at("table"), 1.1, 1e-9);
  EXPECT_NEAR(host_factors(rows, all, 8).at("table"), 2.1, 1e-9);  // generation 8 has no rows: all others
}

}  // namespace
}  // namespace forerun
