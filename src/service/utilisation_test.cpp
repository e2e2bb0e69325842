#include "service/utilisation.hpp"

#include <gtest/gtest.h>

#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

const Service& service() {
  static const std::unique_ptr<Service> kService = *Service::create();
  return *kService;
}

DeviceResult ask(const std::string& json) {
  const auto request = parse_request(json);
  EXPECT_TRUE(request) << request.error().message;
  auto report = service().predict(*request);
  EXPECT_TRUE(report) << report.error().message;
  return report->results.front();
}

TEST(Utilisation, CountsWhatWaitsForTheHostAsIdle) {
  const auto eager = ask(R"({"model":"resnet50","device":"h200-sxm","batch":1,"precision":"fp16","runtime":"eager"})");
  const auto graph = ask(R"({"model":"resnet50","device":"h200-sxm","batch":1,"precision":"fp16","runtime":"graph"})");
  EXPECT_LT(eager.utilisation->gpu_busy, graph.utilisation->gpu_busy);
  EXPECT_GT(eager.utilisation->host, 0.2);
  EXPECT_EQ(graph.utilisation->host, 0);
}

TEST(Utilisation, OfTensorCoresNeedsTensorCores) {
  const auto p100 = ask(R"({"model":"resnet50","device":"p100","batch":8,"runtime":"graph"})");
  EXPECT_EQ(p100.utilisation->tensor_core, 0);
  const auto fp32 = ask(R"({"model":"resnet50","device":"v100-sxm-16gb","batch":32,"runtime":"graph"})");
  const auto fp16 =
      ask(R"({"model":"resnet50","device":"v100-sxm-16gb","batch":32,"precision":"fp16","runtime":"graph"})");
  EXPECT_EQ(fp32.utilisation->tensor_core_time, 0);
  EXPECT_GT(fp16.utilisation->tensor_core_time, 0.2);
  EXPECT_LT(fp16.utilisation->tensor_core, fp16.utilisation->tensor_core_time);
}

TEST(MigByUse, TakesLargerSlicesForBusierCardsAndSaysHowToMakeThem) {
  std::vector<SliceEstimate> slices;
  for (const auto& [name, compute, instances, fits] :
       {std::tuple("1g.5gb", 1, 7, true), std::tuple("2g.10gb", 2, 3, true), std::tuple("3g.20gb", 3, 2, true),
        std::tuple("7g.40gb", 7, 1, true)}) {
    SliceEstimate slice;
    slice.profile.profile = name;
    slice.profile.compute_slices = compute;
    slice.profile.instances = instances;
    slice.fits = fits;
    slices.push_back(slice);
  }
  EXPECT_EQ(advise_mig_by_use(slices, 0.1)->profile, "1g.5gb");
  EXPECT_EQ(advise_mig_by_use(slices, 0.3)->profile, "2g.10gb");
  EXPECT_EQ(advise_mig_by_use(slices, 0.6)->profile, "3g.20gb");
  EXPECT_EQ(advise_mig_by_use(slices, 0.9)->profile, "7g.40gb");
  slices[0].fits = false;
  EXPECT_EQ(advise_mig_by_use(slices, 0.1)->profile, "2g.10gb");
  EXPECT_NE(mig_commands(*advise_mig_by_use(slices, 0.1))[1].find("2g.10gb,2g.10gb,2g.10gb"), std::string::npos);
}

TEST(Epochs, TakeTheSlowerOfStepAndInput) {
  const std::string base =
      R"({"model":"resnet50","device":"v100-sxm-16gb","batch":32,"train":true,"dataset_samples":6400,"epochs":3)";
  const auto fast = ask(base + "}"), slow = ask(base + R"(,"samples_per_s_input":10})");
  const double step_ms = fast.estimates.at(Metric::Latency).value;
  EXPECT_NEAR(*fast.advice.epoch_s, 200 * step_ms / 1e3, 1e-6);
  EXPECT_NEAR(*fast.advice.hours_total, 3 * *fast.advice.epoch_s / 3600, 1e-9);
  EXPECT_NEAR(*slow.advice.epoch_s, 640, 1e-6);
  EXPECT_LT(slow.utilisation->gpu_busy, 0.5);
  for (const char* wrong : {R"({"model":"resnet50","device":"t4","epochs":3,"train":true})",
                            R"({"model":"resnet50","device":"t4","dataset_samples":3})",
                            R"({"model":"resnet50","device":"t4","train":true,"dataset_samples":3,"steps":4})"}) {
    EXPECT_FALSE(service().predict(*parse_request(wrong))) << wrong;
  }
}

TEST(Clouds, ListInstancesThatHoldTheDevicesOfAQuestion) {
  const auto all = ask(R"({"model":"resnet50","device":"a100-sxm-40gb","batch":32,"samples":1000000,"cloud":"all"})");
  const auto aws = ask(R"({"model":"resnet50","device":"a100-sxm-40gb","batch":32,"cloud":"aws"})");
  const auto found = std::find_if(all.advice.vendors.begin(), all.advice.vendors.end(),
                                  [](const VendorPrice& v) { return v.instance == "p4d.24xlarge"; });
  ASSERT_NE(found, all.advice.vendors.end());
  EXPECT_EQ(found->gpus, 8);
  EXPECT_DOUBLE_EQ(found->usd_per_hour, 32.77);
  EXPECT_DOUBLE_EQ(*found->usd_total, 32.77 * *all.advice.hours_total);
  for (const VendorPrice& v : aws.advice.vendors) EXPECT_EQ(v.cloud, "aws");
  EXPECT_NE(*aws.advice.usd_per_hour, *all.advice.usd_per_hour);
  EXPECT_FALSE(parse_request(R"({"model":"resnet50","device":"t4","cloud":"nimbus"})"));
}

}  // namespace
}  // namespace forerun
