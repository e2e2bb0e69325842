#include "serving/serving.hpp"

#include <gtest/gtest.h>

#include "serving/capacity.hpp"

namespace forerun {
namespace {

Estimate exact(double value) { return {value, value / 2, value * 2, Basis::Learned, "trees"}; }

ServingPasses passes(double prefill_ms, double decode_ms) {
  ServingPasses result;
  result[std::size_t(ServingPass::Prefill)] = {exact(prefill_ms), exact(10), exact(1000)};
  result[std::size_t(ServingPass::Decode)] = {exact(decode_ms), exact(4), exact(1100)};
  result[std::size_t(ServingPass::Full)] = {exact(decode_ms), exact(4), exact(1200)};
  return result;
}

TEST(Serving, OneRequestTakesItsPrefillAndItsDecodeSteps) {
  const Estimates e = estimate_serving({.input_tokens = 100, .output_tokens = 11, .in_flight = 1}, passes(20, 3));
  EXPECT_DOUBLE_EQ(e.at(Metric::Ttft).value, 20);
  EXPECT_DOUBLE_EQ(e.at(Metric::LoadedTtft).value, 20);
  EXPECT_DOUBLE_EQ(e.at(Metric::LoadedTpot).value, 3);
  EXPECT_DOUBLE_EQ(e.at(Metric::RequestLatency).value, 20 + 10 * 3);
  EXPECT_DOUBLE_EQ(e.at(Metric::ServingMemory).value, 1200);
}

TEST(Serving, TokenRateAndItsIntervalFollowFromTheTimes) {
  const Estimates e = estimate_serving({.input_tokens = 100, .output_tokens = 10, .in_flight = 4}, passes(20, 3));
  const Estimate& rate = e.at(Metric::TokenRate);
  EXPECT_DOUBLE_EQ(rate.value, 10e3 / (20 + 10 * 3 / 4.0));
  EXPECT_LT(rate.low, rate.value);
  EXPECT_GT(rate.high, rate.value);
  EXPECT_DOUBLE_EQ(e.at(Metric::EnergyPerToken).value, 10 / 10.0 + 4 / 4.0);
}

TEST(Serving, EachPassHasItsPhaseAndSequence) {
  const RequestMix mix{.input_tokens = 100, .output_tokens = 10, .in_flight = 4};
  EXPECT_EQ(bind_pass(ServingPass::Prefill, mix, {}).seq, 100);
  EXPECT_EQ(bind_pass(ServingPass::Prefill, mix, {}).batch, 1);
  EXPECT_EQ(bind_pass(ServingPass::Decode, mix, {}).seq, 105);
  EXPECT_EQ(bind_pass(ServingPass::Full, mix, {}).seq, 110);
  EXPECT_EQ(bind_pass(ServingPass::Full, mix, {}).batch, 4);
}

std::int64_t largest(std::int64_t most, std::int64_t fitting) {
  CapacitySearch search(most);
  while (const auto asked = search.next()) search.report(*asked <= fitting);
  return search.result();
}

TEST(CapacitySearch, FindsTheLargestThatFits) {
  for (const std::int64_t fitting : {0, 1, 2, 3, 100, 255}) EXPECT_EQ(largest(1 << 16, fitting), fitting);
}
TEST(CapacitySearch, StopsAtTheMaximum) { EXPECT_EQ(largest(100, 1000), 100); }
TEST(CapacitySearch, IsWithinOne256thOfTheLargest) {
  const std::int64_t found = largest(1 << 22, 1000003);
  EXPECT_LE(found, 1000003);
  EXPECT_GE(found, 1000003 - 1000003 / 256);
}

}  // namespace
}  // namespace forerun
