// Questions on several devices, asked as users do.
#include <gtest/gtest.h>

#include <ctime>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

const Service& service() {
  static const std::unique_ptr<Service> kService = *Service::create();
  return *kService;
}
Result<PredictReport> ask(const std::string& json) {
  FORERUN_TRY(const Request request, parse_request(json));
  return service().predict(request);
}
DeviceResult result_of(const std::string& json) {
  auto report = ask(json);
  EXPECT_TRUE(report) << report.error().message;
  return report ? report->results.front() : DeviceResult{};
}
std::string error_of(const std::string& json) {
  const auto report = ask(json);
  return report ? "" : report.error().message;
}
double value(const DeviceResult& result, Metric metric) { return result.estimates.at(metric).value; }

const std::string kLlama = R"({"model": "llama-3-8b", "device": "h100-sxm", "precision": "bf16", "seq": 2048)";
const std::string kTrained = kLlama + R"(, "train": true, "optimizer": "adamw")";

TEST(SeveralDevices, OneDeviceIsAskedLikeBefore) {
  const DeviceResult one = result_of(kLlama + "}"), same = result_of(kLlama + R"(, "gpus": 1, "tensor_parallel": 1})");
  EXPECT_EQ(value(one, Metric::Latency), value(same, Metric::Latency));
  EXPECT_EQ(value(one, Metric::Memory), value(same, Metric::Memory));
  EXPECT_FALSE(same.parallel);
}
TEST(SeveralDevices, LlamaWithAdamWFitsEightDevicesShardedAndNotCopied) {
  const std::string data = kTrained + R"(, "data_parallel": 8, "global_batch": 8, "checkpointing": "full")";
  const DeviceResult copied = result_of(data + "}"), sharded = result_of(data + R"(, "zero": "3"})");
  EXPECT_FALSE(copied.advice.fits);
  EXPECT_TRUE(sharded.advice.fits);
  const RankMemory& m = sharded.parallel->memory;
  // 16 bytes a parameter over eight devices: 15.3 GB.
  EXPECT_NEAR(m.at(MemoryPart::Weights) + m.at(MemoryPart::Gradients) + m.at(MemoryPart::Optimizer),
              8.03e9 * 2 / 1048576, 30);
}
TEST(SeveralDevices, MemoryFallsWithEveryDegree) {
  for (const char* degree : {"tensor_parallel", "pipeline_parallel"}) {
    double before = 1e300;
    for (const int n : {1, 2, 4, 8}) {
      const double mb = value(result_of(kTrained + R"(, "global_batch": 16, "micro_batch": 1, ")" + degree +
                                        "\": " + std::to_string(n) + "}"),
                              Metric::Memory);
      EXPECT_LT(mb, before) << degree << " " << n;
      EXPECT_GT(mb * n * 1.35, before < 1e299 ? 0 : mb) << degree;
      before = mb;
    }
  }
}
TEST(SeveralDevices, CachesAreDividedInDecode) {
  const std::string decode =
      R"({"model": "llama-3-8b", "device": "h100-sxm", "precision": "bf16", "phase": "decode", "batch": 32, "seq": 4096)";
  const double one = value(result_of(decode + "}"), Metric::Memory),
               eight = value(result_of(decode + R"(, "tensor_parallel": 8})"), Metric::Memory);
  EXPECT_LT(eight, 0.2 * one);
  EXPECT_GT(8 * eight, one);
}
TEST(SeveralDevices, BreakdownAddsUpToTheStep) {
  const DeviceResult r =
      result_of(kTrained + R"(, "pipeline_parallel": 2, "tensor_parallel": 2, "global_batch": 8, "micro_batch": 1})");
  double sum = 0;
  for (const BreakdownRow& row : r.breakdown) sum += row.time_ms();
  EXPECT_NEAR(sum, value(r, Metric::Latency), 0.01 * sum);
  EXPECT_GT(r.parallel->times.bubble_ms, 0);
  EXPECT_GT(r.parallel->times.communication_ms, 0);
}
TEST(SeveralDevices, GradientsAreAccumulatedOverMicroBatches) {
  const DeviceResult r = result_of(kTrained + R"(, "global_batch": 64, "micro_batch": 2, "checkpointing": "full"})");
  ASSERT_TRUE(r.parallel);
  EXPECT_EQ(r.parallel->step.micro_batches, 32);
  EXPECT_NEAR(value(r, Metric::Throughput), 64e3 / value(r, Metric::Latency), 1e-6);
}
TEST(SeveralDevices, RunsOfTokensHaveDaysAndDollars) {
  const DeviceResult r = result_of(
      R"({"model": "llama-3-8b", "system": "dgx-h100", "nodes": 64, "data_parallel": 512, "zero": "3", "precision": "bf16", "seq": 8192, "train": true, "optimizer": "adamw", "global_batch": 512, "tokens": 1000000000000})");
  ASSERT_TRUE(r.advice.hours_total && r.advice.usd_total);
  EXPECT_NEAR(*r.advice.hours_total, 1e12 / *r.parallel->tokens_per_s / 3600, 0.01 * *r.advice.hours_total);
  EXPECT_EQ(r.parallel->nodes, 64);
  EXPECT_GT(r.parallel->times.mfu, 0.1);
  EXPECT_LT(r.parallel->times.mfu, 0.8);
}
TEST(SeveralDevices, SaysThatItExtrapolates) {
  const DeviceResult r = result_of(kTrained + R"(, "gpus": 512, "global_batch": 512})");
  bool says = false;
  for (const std::string& warning : r.warnings)
    says |= warning.find("two nodes are the most that were measured") != std::string::npos;
  EXPECT_TRUE(says);
}
TEST(SeveralDevices, TheInputPipelineCapsTheThroughput) {
  const DeviceResult r = result_of(
      R"({"model": "resnet50", "device": "a100-sxm-40gb", "gpus": 4, "batch": 256, "train": true, "samples_per_s_input": 100})");
  EXPECT_NEAR(value(r, Metric::Throughput), 100, 0.1);
  EXPECT_TRUE(r.parallel->times.waits_for_input);
}
TEST(SeveralDevices, AdaptersOfAQuantisedNetworkFitOneCard) {
  const std::string tuned =
      R"({"model": "llama-3-8b", "device": "rtx-4090", "precision": "bf16", "seq": 512, "train": true, "optimizer": "adamw", "global_batch": 4, "micro_batch": 1, "checkpointing": "full")";
  EXPECT_FALSE(result_of(tuned + "}").advice.fits);
  EXPECT_TRUE(result_of(tuned + R"(, "lora_rank": 16})").advice.fits);
}
TEST(SeveralDevices, RefusesWhatCannotBe) {
  EXPECT_NE(error_of(kLlama + R"(, "tensor_parallel": 7})").find("1, 2, 4, 8, 16, 32"), std::string::npos);
  EXPECT_NE(error_of(kLlama + R"(, "pipeline_parallel": 1000})").find("32 layers"), std::string::npos);
  EXPECT_NE(error_of(kLlama + R"(, "system": "dgx-a100"})").find("a100-sxm-80gb"), std::string::npos);
  EXPECT_NE(error_of(kLlama + R"(, "nodes": 100000})").find("largest installation"), std::string::npos);
  EXPECT_NE(error_of(kLlama + R"(, "zero": "3"})").find("--train"), std::string::npos);
  EXPECT_NE(error_of(kLlama + R"(, "zero": "4"})"), "");
  EXPECT_NE(error_of(kTrained + R"(, "batch": 8, "global_batch": 16})").find("--global-batch"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": "resnet50", "device": "h100-sxm", "gpus": 8, "tensor_parallel": 8})"), "");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowdown = 20;
#else
constexpr double kSlowdown = 1;
#endif

// Seconds of CPU that the process took for `work`: other jobs on the machine do not count.
template <typename Work>
double cpu_seconds(Work&& work) {
  const std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(SeveralDevices, RanksHoldTheWholeNetworkTogether) {
  const auto weights = [](const std::string& degrees) {
    const DeviceResult r = result_of(kTrained + R"(, "global_batch": 16, "micro_batch": 1)" + degrees + "}");
    double mb = 0;  // of all ranks of one copy
    for (const StageMemory& stage : r.parallel->stages)
      mb += stage.memory.at(MemoryPart::Weights) * double(stage.stages * r.parallel->layout.tensor);
    return mb;
  };
  const double whole = weights(R"(, "checkpointing": "full")");
  EXPECT_NEAR(whole, 8.03e9 * 2 / 1048576, 30);
  for (const char* degrees : {R"(, "tensor_parallel": 8)", R"(, "pipeline_parallel": 4)",
                              R"(, "tensor_parallel": 2, "pipeline_parallel": 8)"}) {
    EXPECT_GE(weights(degrees), whole * 0.999) << degrees;
    EXPECT_LE(weights(degrees), whole * 1.01) << degrees;  // norms are replicated
  }
}

TEST(SeveralDevices, FiveHundredAndTwelveDevicesAreAnsweredInFiftyMilliseconds) {
  const std::string question =
      R"({"model": "llama-3-8b", "system": "dgx-h100", "nodes": 64, "tensor_parallel": 8, "pipeline_parallel": 4,
          "precision": "bf16", "seq": 8192, "train": true, "optimizer": "adamw", "global_batch": )";
  result_of(question + "512}");  // predictors are read once
  const double seconds = cpu_seconds([&] { result_of(question + "1024}"); });
  RecordProperty("ms", std::to_string(seconds * 1e3));
  EXPECT_LT(seconds, 0.05 * kSlowdown);
}

TEST(PlanOfLayouts, TenThousandTakeLessThanFiveSecondsOnTwoCores) {
  const auto request = parse_request(
      R"({"model": "mixtral-8x7b", "system": "dgx-h100", "nodes": 64, "precision": "bf16", "seq": 8192, "train": true, "optimizer": "adamw", "global_batch": 4096})");
  ASSERT_TRUE(request);
  std::int64_t considered = 0;
  const double seconds = cpu_seconds([&] {
    const auto answer = service().plan(*request);
    ASSERT_TRUE(answer) << answer.error().message;
    considered = std::get<LayoutReport>(*answer).considered;
  });
  RecordProperty("layouts", std::to_string(considered));
  RecordProperty("cpu_s", std::to_string(seconds));
  EXPECT_GE(considered, 10000);
  EXPECT_LT(seconds, 2 * 5 * kSlowdown);
}

TEST(PlanOfLayouts, RanksFittingLayoutsAndSaysWhyOthersFail) {
  const auto request = parse_request(
      R"({"model": "llama-3-8b", "system": "dgx-h100", "nodes": 4, "precision": "bf16", "seq": 4096, "train": true, "optimizer": "adamw", "global_batch": 1024})");
  ASSERT_TRUE(request);
  const auto answer = service().plan(*request);
  ASSERT_TRUE(answer) << answer.error().message;
  const auto* report = std::get_if<LayoutReport>(&*answer);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->devices, 32);
  EXPECT_GT(report->considered, 200);
  EXPECT_EQ(report->best.size(), 10U);
  EXPECT_FALSE(report->problems.empty());
  for (std::size_t i = 0; i < report->best.size(); ++i) {
    const PlannedLayout& p = report->best[i];
    EXPECT_EQ(p.layout.degrees.devices(), 32);
    EXPECT_LE(p.memory_mb, 79.65 * 1024);
    if (i > 0) {
      EXPECT_GE(p.step_ms, report->best[i - 1].step_ms);
    }
  }
}

}  // namespace
}  // namespace forerun
