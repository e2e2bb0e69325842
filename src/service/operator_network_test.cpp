#include "service/operator_network.hpp"

#include <gtest/gtest.h>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

Result<RooflineReport> ask(const std::string& json) {
  static const std::unique_ptr<Service> kService = *Service::create();
  FORERUN_TRY(const Request request, parse_request(json));
  return kService->roofline(request);
}

TEST(OperatorNetwork, RefusesUnknownKindsSizesAndWhatIsMissing) {
  EXPECT_FALSE(parse_operator("pool:h=3"));
  EXPECT_FALSE(parse_operator("conv:depth=3"));
  EXPECT_FALSE(parse_operator("conv:h=0"));
  EXPECT_FALSE(parse_operator("gemm:m=8,,k=3"));
  const auto open = parse_operator("gemm:m=8,k=3");
  ASSERT_TRUE(open);
  EXPECT_FALSE(operator_network(*open));
  EXPECT_FALSE(parse_sweep("batch"));
}

TEST(OperatorNetwork, CountsThePublishedConvolution) {
  const auto report = ask(
      R"({"operator":"conv:h=128,w=96,c=112,filters=56,kernel=3,stride=3","batch":32,"device":"v100-sxm-16gb","precision":"fp16"})");
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->points.size(), 1U);
  EXPECT_DOUBLE_EQ(report->points[0].flops, 2.0 * 32 * 43 * 32 * 56 * 112 * 9);
  EXPECT_LE(report->points[0].traffic.memory, report->points[0].traffic.l2);
  EXPECT_LE(report->points[0].traffic.l2, report->points[0].traffic.l1);
}

TEST(OperatorNetwork, SweepsOverSizesWithForwardAndBackwardApart) {
  const auto report = ask(
      R"({"operator":"conv:h=128,w=96,c=112,filters=56","sweep":["stride=2,3","batch=16,32"],"train":true,"optimizer":"none","device":"a100-sxm-40gb"})");
  ASSERT_TRUE(report) << report.error().message;
  std::size_t forward = 0, backward = 0;
  for (const RooflinePoint& point : report->points) {
    forward += point.stage == Stage::Forward;
    backward += point.stage == Stage::Backward;
    EXPECT_NE(point.variant.find("stride="), std::string::npos);
  }
  EXPECT_EQ(forward, 4U);
  EXPECT_GE(backward, 8U);
}

TEST(OperatorNetwork, SweepsNeedAnOperatorAndAnOperatorNoModel) {
  EXPECT_FALSE(ask(R"({"model":"resnet50","sweep":["batch=1,2"],"device":"a100-sxm-40gb"})"));
  EXPECT_FALSE(ask(R"({"model":"resnet50","operator":"gemm:m=1,n=1,k=1","device":"a100-sxm-40gb"})"));
  EXPECT_FALSE(ask(R"({"operator":"gemm:m=1,n=1,k=1","batch":2,"device":"a100-sxm-40gb"})"));
}

}  // namespace
}  // namespace forerun
