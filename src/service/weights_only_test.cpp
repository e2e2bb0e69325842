// A file that holds tensors and no graph, and batches that a file does not allow, seen from a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "service/service.hpp"

namespace forerun {
namespace {

using testing::HasSubstr;

const Service& service() {
  static const std::unique_ptr<Service> kService = std::move(Service::create()).value();
  return *kService;
}

// A safetensors file of one float32 tensor of 2 x 3.
std::string weights_file() {
  const std::string path = testing::TempDir() + "weights_only.safetensors";
  const std::string header = R"({"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) file.put(char(header.size() >> (8 * i)));
  file << header << std::string(24, '\0');
  return path;
}

Request request_of(std::string model, std::optional<std::int64_t> batch = {}) {
  Request request;
  request.model = std::move(model);
  request.devices = {"h200-sxm"};
  request.binding.batch = batch;
  return request;
}

std::string fixture(const std::string& name) {
  return std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/" + name + ".onnx";
}

TEST(WeightsOnly, CanBeInspectedAndNothingElse) {
  const Request request = request_of(weights_file());
  const auto inspected = service().inspect(request);
  ASSERT_TRUE(inspected) << inspected.error().message;
  EXPECT_EQ(inspected->totals.parameters, 6);
  const auto predicted = service().predict(request);
  ASSERT_FALSE(predicted);
  EXPECT_EQ(predicted.error().kind, ErrorKind::BadInput);
  EXPECT_THAT(predicted.error().message,
              HasSubstr("weights_only.safetensors: holds weights (safetensors) and no graph"));
  EXPECT_THAT(predicted.error().message, HasSubstr("config.json"));
  EXPECT_FALSE(service().mig(request));
  EXPECT_FALSE(service().roofline(request));
}

TEST(FixedBatch, ThroughputIsOfTheBatchThatRuns) {
  const auto latency = [](const PredictReport& report) {
    return report.results[0].estimates.at(Metric::Latency).value;
  };
  const auto rate = [](const PredictReport& report) {
    return report.results[0].estimates.at(Metric::Throughput).value;
  };
  const auto fixed = service().predict(request_of(fixture("batch_fixed_transformer"), 64));
  const auto free = service().predict(request_of(fixture("batch_free_transformer"), 64));
  ASSERT_TRUE(fixed) << fixed.error().message;
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_EQ(fixed->workload.batch, 64);
  EXPECT_EQ(fixed->workload.macs, free->workload.macs);
  EXPECT_NEAR(rate(*fixed) * latency(*fixed) / 1e3, 64, 1e-3);
  const auto refused = service().predict(request_of(fixture("batch_first_sample"), 64));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::BadInput);
}

}  // namespace
}  // namespace forerun
