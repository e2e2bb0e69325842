#include "training/platforms/platform_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace forerun {
namespace {

// A made-up device: rates for two classes, a time per pass, and noise.
std::vector<PlatformFitRow> made_up(std::size_t count, double slower, double noise, unsigned seed) {
  std::mt19937 draw(seed);
  std::uniform_real_distribution<double> size(0.1, 2);
  std::normal_distribution<double> error(0, noise);
  std::vector<PlatformFitRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    PlatformFitRow row;
    for (const std::size_t c : {0, 2}) row.sums[3 * c] = size(draw), row.sums[3 * c + 1] = 10 * size(draw);
    row.sums.back() = 1;
    row.network = "n" + std::to_string(i);
    row.family = i % 2 == 0 ? "a" : "b";
    row.measured_ms = slower * (4 * row.sums[0] + 20 * row.sums[6] + 0.1 * row.sums[7] + 1) * std::exp(error(draw));
    rows.push_back(std::move(row));
  }
  return rows;
}

double error_of(const OperatorSums& ms, const std::vector<PlatformFitRow>& rows) {
  EdgeRates rates;
  rates.ms = ms;
  double sum = 0;
  for (const PlatformFitRow& row : rows) sum += std::abs(rates.predict(row.sums) / row.measured_ms - 1);
  return sum / double(rows.size());
}

TEST(PlatformFit, FindsTheRatesOfAMadeUpDeviceAndCoversItsErrors) {
  const EdgeRates rates = fit_edge_rates(made_up(200, 1, 0.05, 1));
  const std::vector<PlatformFitRow> others = made_up(400, 1, 0.05, 2);
  EXPECT_LT(error_of(rates.ms, others), 0.06);
  for (const double rate : rates.ms) EXPECT_GE(rate, 0);
  std::size_t inside = 0;
  for (const PlatformFitRow& row : others)
    inside += std::abs(std::log(rates.predict(row.sums) / row.measured_ms)) <= rates.half_width ? 1 : 0;
  EXPECT_GT(inside, 340U);
  EXPECT_LT(inside, 396U);
}

TEST(PlatformFit, AdaptTakesTheSimplestCandidateThatTheRowsSupport) {
  const OperatorSums known = fit_rates(made_up(200, 1, 0, 3), {}, 1e-4);
  OperatorSums other{};
  other[3] = 7, other.back() = 3;
  const std::vector<KnownRates> all = {{"like", known}, {"other", other}};
  // The same device: the nearest is kept. Three times slower: one factor. Without kin: a fit of its own.
  EXPECT_EQ(adapt_rates(made_up(12, 1, 0.05, 4), all).chosen, "nearest");
  const AdaptedRates slower = adapt_rates(made_up(12, 3, 0.05, 5), all);
  EXPECT_EQ(slower.chosen, "corrected");
  EXPECT_EQ(slower.base, "like");
  EXPECT_LT(error_of(slower.rates.ms, made_up(100, 3, 0, 6)), 0.1);
  const AdaptedRates strange = adapt_rates(made_up(100, 1, 0.02, 7), std::vector<KnownRates>{{"other", other}});
  EXPECT_TRUE(strange.chosen.starts_with("linear")) << strange.chosen;
  EXPECT_LT(error_of(strange.rates.ms, made_up(100, 1, 0, 8)), 0.05);
}

// Eight rows with 30 % noise know a factor to 11 %: three times that is the most that they may do harm by.
TEST(PlatformFit, AdaptIsNotWorseThanTheAnswerWithoutRowsBeyondNoise) {
  const OperatorSums known = fit_rates(made_up(200, 1, 0, 3), {}, 1e-4);
  const std::vector<PlatformFitRow> judged = made_up(200, 1.1, 0, 99);
  const double without = error_of(known, judged);
  double mean = 0;
  for (unsigned seed = 10; seed < 30; ++seed) {
    const AdaptedRates adapted = adapt_rates(made_up(8, 1.1, 0.3, seed), std::vector<KnownRates>{{"near", known}});
    const double with = error_of(adapted.rates.ms, judged);
    EXPECT_LT(with, without + 0.33) << adapted.chosen;
    mean += with / 20;
  }
  EXPECT_LT(mean, without + 0.05);
}

TEST(PlatformFit, OneRowIsEnoughToCorrectByNothing) {
  const OperatorSums known = fit_rates(made_up(200, 1, 0, 3), {}, 1e-4);
  const AdaptedRates adapted = adapt_rates(made_up(1, 2, 0, 1), std::vector<KnownRates>{{"near", known}});
  EXPECT_EQ(adapted.chosen, "nearest");
  EXPECT_GE(adapted.rates.half_width, 1.0);
}

TEST(PlatformFit, NearestDescriptionWeighsRareWords) {
  const std::vector<std::string> descriptions = {"a phone with a Snapdragon 835", "a board with a Cortex-A72",
                                                 "a phone with an Exynos 9610"};
  EXPECT_EQ(nearest_description("my phone, Exynos 9610", descriptions), 2U);
  EXPECT_EQ(nearest_description("a box with Cortex-A72 cores", descriptions), 1U);
}

}  // namespace
}  // namespace forerun
