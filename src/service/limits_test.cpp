// Limits, verdicts and remedies through the service, as a request asks for them.
#include "service/limits.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

const Service& service() {
  static const auto kService = Service::create();
  return **kService;
}

PredictReport predict(const std::string& json) {
  const auto request = parse_request(json);
  EXPECT_TRUE(request) << request.error().message;
  const auto report = service().predict(*request);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : PredictReport();
}

TEST(Limits, ProbabilityComesFromTheIntervalOnTheSideOfTheLimit) {
  const Estimate time{10, 5, 40, Basis::Learned, ""};
  EXPECT_NEAR(probability_at_most(time, 10), 0.5, 1e-9);
  EXPECT_NEAR(probability_at_most(time, 40), 0.95, 1e-4);
  EXPECT_NEAR(probability_at_most(time, 5), 0.05, 1e-4);
  EXPECT_EQ(probability_at_most({3, 3, 3, Basis::Measured, ""}, 3), 1);
}

TEST(Limits, TheVerdictNamesTheCheapestThatHolds) {
  const PredictReport report =
      predict(R"({"model": "resnet50", "batch": 1, "device": ["t4", "l4", "h100-sxm"], "fps": 100})");
  ASSERT_TRUE(report.verdict);
  EXPECT_EQ(report.verdict->of, 3u);
  ASSERT_TRUE(report.verdict->cheapest);
  for (const DeviceResult& result : report.results) {
    if (result.limits->holds() && result.advice.usd_per_hour) {
      EXPECT_LE(report.verdict->cheapest->value, *result.advice.usd_per_hour);
    }
    EXPECT_GE(result.limits->probability, 0);
    EXPECT_LE(result.limits->probability, 1);
  }
  EXPECT_NE(report.verdict->text.find(report.verdict->cheapest->device), std::string::npos);
}

TEST(Limits, ARemedyKeepsWhatWasMissedWhenAskedAgain) {
  const std::string question = R"("model": "resnet50", "batch": 64, "device": "t4", "max_latency_ms": 60)";
  const PredictReport report = predict("{" + question + R"(, "remedies": true})");
  ASSERT_FALSE(report.results[0].limits->holds());
  ASSERT_FALSE(report.results[0].limits->remedies.empty());
  for (const Remedy& remedy : report.results[0].limits->remedies) {
    auto request = parse_request("{" + question + "}");
    for (const Setting& setting : remedy.settings) {
      for (const Option& option : all_options()) {
        if (option.name == setting.option) {
          ASSERT_TRUE(option.apply(*request, setting.value));
        }
      }
    }
    EXPECT_TRUE(service().predict(*request)->results[0].limits->holds()) << remedy.text;
  }
}

TEST(Limits, ANetworkTooLargeForACardNeedsMoreCardsOrFewerBits) {
  const PredictReport report =
      predict(R"({"model": "llama-3-70b", "device": "h100-sxm", "concurrency": 4, "remedies": true})");
  const LimitReport& limits = *report.results[0].limits;
  ASSERT_EQ(limits.misses.size(), 1u);
  EXPECT_EQ(limits.misses[0].limit, "memory");
  ASSERT_EQ(limits.remedies.size(), 2u);
  EXPECT_EQ(limits.remedies[0].text, "needs 2");
  EXPECT_EQ(limits.remedies[1].text, "fp8 fits");
}

TEST(Limits, ResultsAreSortedFilteredAndCut) {
  const PredictReport report =
      predict(R"({"model": "resnet50", "batch": 8, "device": "all", "max_usd_per_hour": 1, "fits_only": true,)"
              R"( "sort": "usd_per_hour", "top": 3})");
  ASSERT_EQ(report.results.size(), 3u);
  EXPECT_GT(report.verdict->of, 80u);
  double before = 0;
  for (const DeviceResult& result : report.results) {
    EXPECT_LE(*result.advice.usd_per_hour, 1);
    EXPECT_GE(*result.advice.usd_per_hour, before);
    before = *result.advice.usd_per_hour;
  }
}

TEST(Limits, UsersBecomeRequestsInFlightWithTheLimitsOfAChat) {
  const PredictReport report = predict(R"({"model": "llama-3.1-8b", "device": "h100-sxm", "users": 50})");
  ASSERT_TRUE(report.load);
  EXPECT_EQ(report.load->concurrency, 50);
  EXPECT_TRUE(report.results[0].limits->holds());
  const auto both = parse_request(R"({"model": "llama-3.1-8b", "device": "t4", "users": 5, "concurrency": 5})");
  EXPECT_FALSE(service().predict(*both));
}

TEST(Limits, WhatDoesNotApplyIsRefused) {
  for (const char* text : {R"({"model": "resnet50", "device": "l4", "users": 5})",
                           R"({"model": "resnet50", "device": "l4", "phase": "decode"})",
                           R"({"model": "resnet50", "device": "l4", "kv_precision": "fp8"})",
                           R"({"model": "llama-3.1-8b", "device": "l4", "concurrency": 2, "fps": 30})"}) {
    const auto request = parse_request(text);
    ASSERT_TRUE(request);
    EXPECT_FALSE(service().predict(*request)) << text;
  }
  EXPECT_FALSE(parse_request(R"({"model": "resnet50", "device": "l4", "sort": "beauty"})"));
}

TEST(Limits, AssertionsTakeMetricsEndsOfIntervalsAndPrices) {
  const PredictReport report =
      predict(R"({"model": "resnet50", "batch": 1, "device": "l4",)"
              R"( "assert": ["latency_ms<1e6", "latency_ms.high < 1e-6", "usd_per_hour<=1000"]})");
  ASSERT_EQ(report.assertions.size(), 3u);
  EXPECT_TRUE(report.assertions[0].holds);
  EXPECT_FALSE(report.assertions[1].holds);
  EXPECT_TRUE(report.assertions[2].holds);
  for (const char* text : {"latency_ms", "latency<5", "latency_ms<", "latency_ms.middle<5", "usd_per_hour.low<5"})
    EXPECT_FALSE(parse_assertion(text)) << text;
}

}  // namespace
}  // namespace forerun
