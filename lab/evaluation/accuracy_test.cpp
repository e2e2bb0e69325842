#include "evaluation/accuracy.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

Judged row(double measured, double predicted, double low = 0, double high = 0) {
  return {measured, predicted, low, high, "", "", ""};
}

TEST(Accuracy, CountsErrorsInPercentOfTheMeasurement) {
  const std::vector<Judged> rows = {row(100, 110), row(100, 80), row(200, 200)};
  const Accuracy a = measure_accuracy(rows);
  EXPECT_NEAR(a.mape, 10, 1e-9);
  EXPECT_NEAR(a.median_ape, 10, 1e-9);
  EXPECT_NEAR(a.within_10, 200.0 / 3, 1e-9);
}

TEST(Accuracy, KendallIsOneForTheSameOrderAndMinusOneForTheOpposite) {
  EXPECT_DOUBLE_EQ(measure_accuracy(std::vector<Judged>{row(1, 10), row(2, 20), row(3, 30), row(4, 31)}).kendall_tau,
                   1);
  EXPECT_DOUBLE_EQ(measure_accuracy(std::vector<Judged>{row(1, 30), row(2, 20), row(3, 10)}).kendall_tau, -1);
  EXPECT_NEAR(measure_accuracy(std::vector<Judged>{row(1, 1), row(2, 3), row(3, 2)}).kendall_tau, 1.0 / 3, 1e-12);
}

TEST(Accuracy, CoverageCountsOnlyRowsWithAnInterval) {
  const Accuracy a = measure_accuracy(std::vector<Judged>{row(10, 10, 9, 11), row(10, 12, 11, 13), row(5, 5)});
  EXPECT_DOUBLE_EQ(a.coverage, 50);
}

TEST(Accuracy, NoRowsAreNoError) { EXPECT_EQ(measure_accuracy({}).rows, 0U); }

TEST(Quantile, LiesBetweenRanks) {
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3, 4, 5}, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 0.25), 1.25);
}

TEST(Repeated, SpreadIsTheStandardDeviation) {
  const Repeated r = repeated(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(r.mean, 2);
  EXPECT_DOUBLE_EQ(r.spread, 1);
}

}  // namespace
}  // namespace forerun
