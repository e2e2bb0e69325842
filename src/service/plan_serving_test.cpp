// Deployments for a load: what is found is what one question about it answers.
#include "service/plan_serving.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

const Service& service() {
  static const std::unique_ptr<Service> kService = std::move(Service::create()).value();
  return *kService;
}

Result<PlanReport> plan(const std::string& text) {
  FORERUN_TRY(const Request request, parse_request(text));
  return service().plan(request);
}

const std::string kQuestion =
    R"({"model": "llama-3-8b", "serve": true, "rate": 6, "input_tokens": 500, "output_tokens": 100, "slo_ttft_ms": 1000,
        "slo_tpot_ms": 50, "device": "h100-sxm,l40s")";

const ServingPlan& both() {
  static const Result<PlanReport> kPlan = plan(kQuestion + R"(, "engine": "vllm"})");
  return std::get<ServingPlan>(*kPlan);
}

TEST(PlanOfServing, EveryDeploymentKeepsTheLimits) {
  ASSERT_FALSE(both().found.empty());
  for (const PlannedDeployment& d : both().found) {
    EXPECT_LE(*d.find("ttft_ms")->p50, 1000);
    EXPECT_LE(*d.find("tpot_ms")->p50, 50);
    EXPECT_NEAR(d.find("requests_per_s")->value, 6, 1);
    EXPECT_NEAR(d.usd_per_million, d.usd_per_hour / 3600 / d.find("tokens_per_s")->value * 1e6, 1e-6);
    for (const PlannedInstances& group : d.groups) EXPECT_TRUE(group.command.starts_with("vllm serve "));
  }
}

TEST(PlanOfServing, NothingBeatsTheFrontInPriceAndLatency) {
  bool has_front = false;
  for (const PlannedDeployment& d : both().found) {
    has_front |= d.is_on_front;
    for (const PlannedDeployment& other : both().found) {
      EXPECT_FALSE(d.is_on_front && other.usd_per_hour < d.usd_per_hour && other.latency_ms < d.latency_ms);
    }
  }
  EXPECT_TRUE(has_front);
  EXPECT_TRUE(both().found.front().is_on_front);
}

TEST(PlanOfServing, AnswersAsAQuestionAboutTheSameDeployment) {
  for (const PlannedDeployment& d : both().found) {
    if (d.groups.size() > 1 || d.groups[0].pipeline > 1) continue;
    const nlohmann::json question = {{"model", "llama-3-8b"},
                                     {"device", d.device},
                                     {"engine", d.engine},
                                     {"precision", std::string(name_of(*d.precision))},
                                     {"request_rate", 6},
                                     {"input_tokens", 500},
                                     {"output_tokens", 100},
                                     {"slo_ttft_ms", 1000},
                                     {"slo_tpot_ms", 50},
                                     {"tensor_parallel", d.groups[0].tensor},
                                     {"data_parallel", d.groups[0].instances}};
    const auto request = parse_request(question.dump());
    ASSERT_TRUE(request);
    const auto report = service().predict(*request);
    ASSERT_TRUE(report) << report.error().message;
    for (const ServingMetric& metric : report->results[0].serving->metrics)
      EXPECT_NEAR(metric.value, d.find(metric.key)->value, 1e-9 * metric.value) << metric.key;
    return;
  }
  FAIL() << "no deployment of whole instances was found";
}

TEST(PlanOfServing, TighterLimitsCostNoLess) {
  const auto tight = plan(kQuestion + R"(, "engine": "vllm", "slo_tpot_ms": 8})");
  EXPECT_FALSE(tight) << "an option given twice is an error";
  std::string question = kQuestion;
  question.replace(question.find("50, \"device\""), 2, "12");
  const auto tighter = plan(question + R"(, "engine": "vllm"})");
  ASSERT_TRUE(tighter);
  const auto& found = std::get<ServingPlan>(*tighter).found;
  if (!found.empty()) {
    EXPECT_GE(found.front().usd_per_hour, both().found.front().usd_per_hour);
  }
  EXPECT_FALSE(std::get<ServingPlan>(*tighter).problems.empty());
}

TEST(PlanOfServing, RefusesWhatItDecidesItself) {
  const auto error_of = [](const std::string& more) {
    const auto report = plan(R"({"model": "llama-3-8b", "serve": true, "device": "l4")" + more + "}");
    return report ? "" : report.error().message;
  };
  EXPECT_NE(error_of("").find("--rate"), std::string::npos);
  EXPECT_NE(error_of(R"(, "rate": 1, "data_parallel": 2)").find("--data-parallel"), std::string::npos);
  EXPECT_NE(error_of(R"(, "rate": 1, "concurrency": 2)").find("--concurrency"), std::string::npos);
  EXPECT_NE(error_of(R"(, "rate": 1, "train": true)").find("--train"), std::string::npos);
  EXPECT_NE(error_of(R"(, "rate": 1, "tensor_parallel": 7)").find("32"), std::string::npos);
  const auto predicted = service().predict(*parse_request(R"({"model": "llama-3-8b", "serve": true, "device": "l4"})"));
  EXPECT_FALSE(predicted);
}

TEST(PlanOfServing, ANetworkTooLargeForADeviceSaysSo) {
  const auto report = plan(R"({"model": "llama-3.1-70b", "serve": true, "rate": 1, "device": "l4", "engine": "vllm",
                               "precision": "bf16", "gpus": 2})");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(std::get<ServingPlan>(*report).found.empty());
  EXPECT_FALSE(std::get<ServingPlan>(*report).problems.empty());
}

}  // namespace
}  // namespace forerun
