#include "predictors/trees/correction.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace forerun {
namespace {

std::vector<CorrectionRow> rows_off_by(double factor, std::size_t count) {
  std::vector<CorrectionRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    CorrectionRow row{.answered = 1.0 + double(i), .measured = factor * (1.0 + double(i)), .point = {}};
    row.point[i % 3] = 3;
    rows.push_back(row);
  }
  return rows;
}

TEST(Correction, WithoutRowsNothingChanges) {
  const MetricCorrection fit = fit_correction({});
  EXPECT_DOUBLE_EQ(fit.log_factor(CorrectionPoint{}), 0);
}

TEST(Correction, FewRowsAreTrustedLessThanMany) {
  const auto at = [](std::size_t count) {
    const auto rows = rows_off_by(2, count);
    return fit_correction(rows).log_factor(rows[0].point);
  };
  EXPECT_LT(at(1), 0.95 * std::log(2.0));
  EXPECT_GT(at(300), 0.99 * std::log(2.0));
  EXPECT_LT(at(1), at(3));
  EXPECT_LT(at(3), at(30));
}

TEST(Correction, LearnsThatOneKernelClassIsSlower) {
  auto rows = rows_off_by(1, 60);
  for (std::size_t i = 0; i < rows.size(); i += 3) rows[i].measured *= 1.5;
  const MetricCorrection fit = fit_correction(rows);
  EXPECT_NEAR(std::exp(fit.log_factor(rows[0].point)), 1.5, 0.1);
  EXPECT_NEAR(std::exp(fit.log_factor(rows[1].point)), 1.0, 0.05);
  EXPECT_LT(fit.half_width(rows[0].point), 0.1);
}

TEST(Correction, BundleComesBackAndCorrectsItsMetric) {
  const auto bytes =
      make_correction_bundle("some-gpu", {{"latency_graph_ms", fit_correction(rows_off_by(2, 300))}}, "{}");
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto bundle = Bundle::from_bytes(*bytes, "test");
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto correction = DeviceCorrection::load(*bundle);
  ASSERT_TRUE(correction) << correction.error().message;
  EXPECT_EQ(correction->device(), "some-gpu");
  Estimates estimates;
  estimates.set(Metric::Latency, {10, 9, 11, Basis::Roofline, "roofline"});
  estimates.set(Metric::Memory, {100, 90, 110, Basis::Roofline, "roofline"});
  Workload workload;
  workload.runtime = Runtime::Graph;
  TreeInput input;
  input.class_share[0] = 1;
  input.kernel_ms = 1;
  input.ideal_us = {1};
  EXPECT_TRUE(correction->apply(workload, input, estimates));
  EXPECT_NEAR(estimates.at(Metric::Latency).value, 20, 0.5);
  EXPECT_EQ(estimates.at(Metric::Latency).basis, Basis::Learned);
  EXPECT_EQ(estimates.at(Metric::Memory).value, 100);
  workload.runtime = Runtime::Eager;  // eager was not measured: left alone
  estimates.at(Metric::Latency).value = 10;
  EXPECT_FALSE(correction->apply(workload, input, estimates));
  EXPECT_EQ(estimates.at(Metric::Latency).value, 10);
}

TEST(Correction, ARunThatDiffersFromThoseMeasuredHasAWiderInterval) {
  const auto rows = rows_off_by(1.2, 60);
  const MetricCorrection fit = fit_correction(rows);
  CorrectionPoint unfamiliar{};
  unfamiliar[10] = 3;
  unfamiliar[kKernelClasses + 1] = 5;
  EXPECT_GT(fit.half_width(unfamiliar), 2 * fit.half_width(rows[0].point));
}

TEST(Correction, RefusesABundleOfAnotherKind) {
  BundleManifest manifest;
  manifest.name = "x";
  manifest.kind = "trees";
  const auto bytes = BundleWriter(manifest).bytes();
  ASSERT_TRUE(bytes);
  const auto bundle = Bundle::from_bytes(*bytes, "test");
  ASSERT_TRUE(bundle);
  EXPECT_FALSE(DeviceCorrection::load(*bundle));
}

}  // namespace
}  // namespace forerun
