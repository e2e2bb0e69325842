#include "service/edge_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

using testing::HasSubstr;

Result<PredictReport> ask(const std::string& fields) {
  static const auto kService = std::move(*Service::create());
  const auto request = parse_request(R"({"model": "resnet50", )" + fields + "}");
  if (!request) return request.error();
  return kService->predict(*request);
}
std::string error_of(const std::string& fields) {
  const auto report = ask(fields);
  return report ? "" : report.error().message;
}

TEST(EdgeAnswer, IsALatencyWithAnIntervalWhoseBreakdownAddsUpAndNothingElse) {
  const auto report = ask(R"("device": "galaxy-s24", "precision": "int8")");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const DeviceResult& result = report->results.at(0);
  const Estimate& latency = result.estimates.at(Metric::Latency);
  EXPECT_GT(latency.low, 0);
  EXPECT_LT(latency.low, latency.value);
  EXPECT_LT(latency.value, latency.high);
  EXPECT_EQ(latency.predictor, kEdgeName);
  double ms = 0;
  for (const BreakdownRow& row : result.breakdown) ms += row.time_ms();
  EXPECT_NEAR(ms, latency.value, 1e-6 * latency.value);
  for (const Metric metric : {Metric::Memory, Metric::DeviceMemory, Metric::Energy, Metric::Power})
    EXPECT_FALSE(result.estimates.contains(metric));
}

TEST(EdgeAnswer, RefusesWhatIsNotKnownOfAPhone) {
  EXPECT_THAT(error_of(R"("device": "galaxy-s24")"), HasSubstr("take --precision"));
  EXPECT_THAT(error_of(R"("device": "galaxy-s24", "precision": "int8", "batch": 4)"), HasSubstr("--batch 1"));
  EXPECT_THAT(error_of(R"("device": "galaxy-s24", "precision": "int8", "runtime": "graph")"), HasSubstr("--runtime"));
  EXPECT_THAT(error_of(R"("device": "galaxy-s24", "train": true)"), HasSubstr("--train"));
  EXPECT_THAT(error_of(R"("device": "galaxy-s24,l4")"), HasSubstr("without other devices"));
}

}  // namespace
}  // namespace forerun
