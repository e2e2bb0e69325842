// A new device is one file, also of a generation that no table of the program has heard of.
#include <gtest/gtest.h>

#include "service/service.hpp"

namespace forerun {
namespace {

DeviceResult predict_on(const char* device, Precision precision) {
  static const std::unique_ptr<Service> kService = std::move(Service::create()).value();
  const std::string root = FORERUN_SOURCE_DIR;
  Request request;
  request.model = root + "/tests/fixtures/onnx/resnet50.onnx";
  request.devices = {device};
  request.device_file = root + "/tests/examples/nebula-1.json";
  request.binding.batch = 64;
  request.precision = precision;
  request.runtime = Runtime::Graph;
  const auto report = kService->predict(request);
  EXPECT_TRUE(report) << report.error().message;
  return report ? report->results.at(0) : DeviceResult{};
}

TEST(ExampleDevice, OneFileIsEnoughForAnAnswer) {
  const DeviceResult result = predict_on("nebula-1", Precision::Fp16);
  for (const Metric metric : {Metric::Latency, Metric::Memory, Metric::DeviceMemory, Metric::Energy, Metric::Power}) {
    const Estimate* estimate = result.estimates.find(metric);
    ASSERT_NE(estimate, nullptr) << name_of(metric);
    EXPECT_GT(estimate->low, 0) << name_of(metric);
    EXPECT_LT(estimate->low, estimate->high) << name_of(metric);
    EXPECT_EQ(estimate->basis, Basis::Roofline) << name_of(metric);  // nothing learned speaks for an unknown maker
  }
  EXPECT_TRUE(result.advice.fits);
}

TEST(ExampleDevice, ItsFiguresDecideTheAnswer) {
  const auto latency_ms = [](const char* device, Precision precision) {
    return predict_on(device, precision).estimates.at(Metric::Latency).value;
  };
  EXPECT_LT(latency_ms("nebula-1", Precision::Fp16), latency_ms("nebula-1", Precision::IeeeFp32));
  EXPECT_LT(latency_ms("nebula-1", Precision::Fp16), latency_ms("mi210", Precision::Fp16));
}

}  // namespace
}  // namespace forerun
