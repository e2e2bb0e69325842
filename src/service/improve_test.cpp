// Changes that are proposed pay when they are estimated again.
#include "service/improve.hpp"

#include <gtest/gtest.h>

#include <set>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

AdviseReport advise(const char* json) {
  static const std::unique_ptr<Service> service = Service::create().value();
  const auto request = parse_request(json);
  EXPECT_TRUE(request) << request.error().message;
  Result<AdviseReport> report = service->advise(*request);
  EXPECT_TRUE(report) << json << ": " << (report ? "" : report.error().message);
  return report ? std::move(*report) : AdviseReport{};
}

const Change* find(const AdviseReport& report, std::string_view option) {
  for (const Change& change : report.proposals) {
    for (const Setting& setting : change.settings) {
      if (setting.option == option) return &change;
    }
  }
  return nullptr;
}

constexpr const char* kQuestions[] = {
    R"({"model":"resnet50","device":"a100-sxm-80gb"})",
    R"({"model":"bert-base-uncased","device":"h200-sxm","batch":8,"seq":128})",
    R"({"model":"bert-base-uncased","device":"h100-sxm","batch":16,"train":true,"optimizer":"adamw","goal":"energy"})",
    R"({"model":"llama-3-8b","device":"h100-sxm","precision":"bf16","input_tokens":256,"concurrency":4,"goal":"cost"})"};

TEST(Advise, ProposesOnlyWhatPaysAndNothingTwice) {
  for (const char* question : kQuestions) {
    const AdviseReport report = advise(question);
    EXPECT_GE(report.proposals.size(), 3U) << question;
    std::set<std::string> titles;
    for (const Change& change : report.proposals) {
      EXPECT_TRUE(titles.insert(change.title).second) << change.title;
      EXPECT_GT(change.factor, 1.0) << change.title;
      EXPECT_LT(change.low, change.factor);
      EXPECT_LT(change.factor, change.high);
      EXPECT_GE(change.probability, 0.5);
      EXPECT_TRUE(change.result.advice.fits) << change.title;
    }
    for (std::size_t i = 1; i < report.proposals.size(); ++i)
      EXPECT_LT(report.proposals[i].factor, 1.02 * report.proposals[i - 1].factor);
  }
}

TEST(Advise, ChangesTogetherBeatTheirParts) {
  for (const char* question : kQuestions) {
    const AdviseReport report = advise(question);
    ASSERT_FALSE(report.together.empty()) << question;
    for (const Change& change : report.together) {
      EXPECT_GE(change.parts.size(), 2U);
      EXPECT_LT(change.risk, Risk::Architecture);
      for (const Change& single : report.proposals) {
        if (std::find(change.parts.begin(), change.parts.end(), single.title) != change.parts.end()) {
          EXPECT_GT(change.factor, single.factor) << single.title;
        }
      }
    }
  }
}

TEST(Advise, AChangedRequestGivesTheEstimateThatWasProposed) {
  const AdviseReport report = advise(R"({"model":"resnet50","device":"l4","runtime":"graph"})");
  const Change* batch = find(report, "batch");
  ASSERT_NE(batch, nullptr);
  const AdviseReport again = advise(
      (R"({"model":"resnet50","device":"l4","runtime":"graph","batch":)" + batch->settings[0].value + "}").c_str());
  EXPECT_DOUBLE_EQ(again.before_goal.value, batch->after.value);
}

TEST(Advise, KeepsLimits) {
  const AdviseReport report = advise(
      R"({"model":"resnet50","device":"a100-sxm-80gb","constraint":["latency_ms<=12","device_memory_mb<=900"]})");
  for (const std::vector<Change>* list : {&report.proposals, &report.together}) {
    for (const Change& change : *list) {
      EXPECT_LE(change.result.estimates.at(Metric::Latency).value, 12);
      EXPECT_LE(change.result.estimates.at(Metric::DeviceMemory).value, 900);
    }
  }
}

TEST(Advise, FindsWhatMakesANetworkFit) {
  const AdviseReport report =
      advise(R"({"model":"llama-3-70b","device":"h100-sxm","precision":"bf16","phase":"decode","batch":1})");
  EXPECT_FALSE(report.before.advice.fits);
  ASSERT_FALSE(report.proposals.empty());
  for (const Change& change : report.proposals) EXPECT_TRUE(change.result.advice.fits) << change.title;
  EXPECT_NE(find(report, "tensor-parallel"), nullptr);
}

TEST(Advise, RefusesWhatItCannotJudge) {
  const std::unique_ptr<Service> service = Service::create().value();
  const auto refused = [&](const char* json) {
    const auto request = parse_request(json);
    return request ? service->advise(*request).error().message : request.error().message;
  };
  EXPECT_NE(refused(R"({"model":"resnet50","device":"l4,t4"})").find("one device"), std::string::npos);
  EXPECT_NE(refused(R"({"model":"resnet50","device":"l4","goal":"beauty"})").find("goal"), std::string::npos);
  EXPECT_NE(refused(R"({"model":"resnet50","device":"l4","constraint":"speed<=3"})").find("METRIC<=X"),
            std::string::npos);
}

TEST(Advise, WritesJson) {
  const std::string json = to_json(advise(kQuestions[0]));
  for (const char* key : {"\"proposals\":[{", "\"together\":[{", "\"factor_low\":", "\"settings\":{", "\"rejected\":["})
    EXPECT_NE(json.find(key), std::string::npos) << key;
}

}  // namespace
}  // namespace forerun
