#include "evaluation/ship/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

namespace forerun {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// 300 networks of two runs; log errors are normal with this spread, intervals are as wide as `claimed` says.
BundleAnswers made_up(double spread, double claimed, double bias = 0, std::uint64_t seed = 3) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  BundleAnswers answers;
  for (int network = 0; network < 300; ++network) {
    for (int run = 0; run < 2; ++run) {
      const double predicted = std::exp(bias + spread * normal(random)), width = std::exp(1.645 * claimed);
      answers.push_back({std::to_string(network) + "/" + std::to_string(run),
                         "llm latency_graph_ms",
                         {1, predicted, predicted / width, predicted * width, "", "", std::to_string(network)}});
    }
  }
  return answers;
}

TEST(ShipGate, ABundleAsGoodAsTheShippedOnePasses) {
  const GateResult same = judge_candidate(made_up(0.05, 0.05), made_up(0.05, 0.05));
  ASSERT_EQ(same.rows.size(), 1U);
  EXPECT_TRUE(same.has_passed());
  EXPECT_EQ(same.rows[0].rows, 600U);
  EXPECT_EQ(same.rows[0].networks, 300U);
  EXPECT_DOUBLE_EQ(same.rows[0].difference_low, 0);
  EXPECT_NEAR(same.rows[0].coverage, 90, 6);
  EXPECT_TRUE(judge_candidate(made_up(0.05, 0.05, 0, 4), made_up(0.05, 0.05)).has_passed())
      << "other errors of the same size are noise";
  EXPECT_TRUE(judge_candidate(made_up(0.03, 0.03), made_up(0.05, 0.05)).has_passed());
}

TEST(ShipGate, AWorseBundleIsRefused) {
  const GateResult result = judge_candidate(made_up(0.08, 0.08, 0, 4), made_up(0.05, 0.05));
  EXPECT_FALSE(result.has_passed());
  EXPECT_THAT(result.rows[0].refusals, Contains("worse"));
  EXPECT_GT(result.rows[0].difference_low, 0);
}

TEST(ShipGate, IntervalsMustHoldWhatTheyClaim) {
  const BundleAnswers shipped = made_up(0.05, 0.05);
  EXPECT_THAT(judge_candidate(made_up(0.05, 0.02), shipped).rows[0].refusals, Contains("intervals too narrow"));
  EXPECT_THAT(judge_candidate(made_up(0.05, 0.2), shipped).rows[0].refusals, Contains("intervals too wide"));
  BundleAnswers bare = shipped;
  for (BundleAnswer& answer : bare) answer.judged.low = answer.judged.high = 0;
  EXPECT_THAT(judge_candidate(bare, shipped).rows[0].refusals, Contains("answers without an interval"));
}

TEST(ShipGate, WhatTheShippedBundleAnswersMustStillBeAnswered) {
  const BundleAnswers shipped = made_up(0.05, 0.05);
  BundleAnswers fewer = shipped;
  fewer.pop_back();
  EXPECT_THAT(judge_candidate(fewer, shipped).rows[0].refusals, Contains(HasSubstr("1 runs are no longer answered")));
  EXPECT_FALSE(judge_candidate({}, shipped).has_passed());
  EXPECT_TRUE(judge_candidate(shipped, fewer).has_passed()) << "answering more is no fault";
}

TEST(ShipGate, TooFewNetworksDecideNothing) {
  BundleAnswers few = made_up(0.5, 0.05, 1);
  few.resize(9 * 2);
  const GateResult result = judge_candidate(few, few);
  EXPECT_FALSE(result.rows[0].is_judged);
  EXPECT_FALSE(result.has_passed()) << "a gate that judged nothing lets nothing through";
}

TEST(ShipGate, AnswersSurviveTheirFile) {
  const std::string path = ::testing::TempDir() + "ship_answers.csv";
  const BundleAnswers answers = made_up(0.05, 0.05);
  ASSERT_TRUE(write_answers(answers, path));
  const auto read = read_answers(path);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), answers.size());
  EXPECT_EQ(read->back().key, answers.back().key);
  EXPECT_EQ(read->back().judged.network, "299");
  EXPECT_NEAR(read->back().judged.predicted, answers.back().judged.predicted, 1e-5);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace forerun
