// Properties that physics demands of the roofline, over the fixtures.
#include "predictors/roofline/roofline.hpp"

#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "devices/catalogue.hpp"
#include "readers/networks.hpp"
#include "readers/reader.hpp"

namespace forerun {
namespace {

const char* const kFixtures[] = {"resnet50.onnx", "vgg16.onnx", "mobilenet_v2.onnx", "bert_base.onnx"};

struct Case {
  Graph graph;
  std::vector<Kernel> kernels;
  Workload workload;
};

Case make(const Network& network, std::int64_t batch, Precision precision, bool training = false) {
  Case c;
  c.workload.binding.batch = batch;
  c.workload.binding.precision = precision;
  c.workload.precision = precision;
  c.workload.training = training;
  auto graph = analyze(network, c.workload.binding);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  c.graph = std::move(graph).value();
  c.kernels = list_kernels(c.graph, c.workload);
  return c;
}

RooflineEstimate run(const Case& c, const Device& device) {
  return estimate_roofline(c.graph, c.kernels, c.workload, device);
}

Device find(const char* id) { return Catalogue::load()->find(id).value(); }

std::unique_ptr<Network> fixture(const char* name) {
  auto network = read_network(std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/" + name);
  EXPECT_TRUE(network) << name;
  return std::move(network).value();
}

TEST(Roofline, MoreBatchNeverTakesLessTime) {
  for (const char* device : {"h200-sxm", "t4", "a100-sxm-40gb", "mi210"}) {
    const Device target = find(device);
    for (const char* name : kFixtures) {
      const auto network = fixture(name);
      double graph_ms = 0;
      double eager_ms = 0;
      for (const std::int64_t batch : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128}) {
        const RooflineEstimate estimate = run(make(*network, batch, Precision::Fp32), target);
        EXPECT_GE(estimate.latency_graph_ms, graph_ms * 0.9999) << name << " batch " << batch << " on " << device;
        EXPECT_GE(estimate.latency_eager_ms, eager_ms * 0.9999) << name << " batch " << batch << " on " << device;
        graph_ms = estimate.latency_graph_ms;
        eager_ms = estimate.latency_eager_ms;
      }
    }
  }
}

TEST(Roofline, ASliceIsNeverFasterThanItsCard) {
  for (const char* id : {"h200-sxm", "a100-sxm-40gb", "a30"}) {
    const Device card = find(id);
    for (const char* name : kFixtures) {
      const Case c = make(*fixture(name), 8, Precision::Fp16);
      const double whole = run(c, card).latency_graph_ms;
      for (const MigProfile& profile : card.mig)
        EXPECT_GE(run(c, slice_of(card, profile)).latency_graph_ms, whole * 0.9999) << name << " " << profile.profile;
    }
  }
}

TEST(Roofline, HalfPrecisionNeverNeedsMoreMemory) {
  const Device device = find("h200-sxm");
  for (const char* name : kFixtures) {
    const auto network = fixture(name);
    for (const std::int64_t batch : {1, 16}) {
      const double half = run(make(*network, batch, Precision::Fp16), device).memory.total_mb;
      const double full = run(make(*network, batch, Precision::Fp32), device).memory.total_mb;
      EXPECT_LE(half, full) << name;
    }
  }
}

TEST(Roofline, ATrainingStepTakesMoreThanInference) {
  const Device device = find("a100-sxm-80gb");
  for (const char* name : kFixtures) {
    const auto network = fixture(name);
    const RooflineEstimate inference = run(make(*network, 8, Precision::Fp32), device);
    const RooflineEstimate training = run(make(*network, 8, Precision::Fp32, true), device);
    EXPECT_GT(training.latency_eager_ms, 2 * inference.latency_graph_ms) << name;
    EXPECT_GT(training.memory.total_mb, inference.memory.total_mb) << name;
  }
}

TEST(Roofline, EagerIsNeverFasterThanGraphReplay) {
  const Device device = find("h200-sxm");
  for (const char* name : kFixtures) {
    const RooflineEstimate estimate = run(make(*fixture(name), 1, Precision::Fp16), device);
    EXPECT_GE(estimate.latency_eager_ms, estimate.latency_graph_ms) << name;
  }
}

TEST(Roofline, PowerStaysBetweenIdleAndLimit) {
  for (const char* id : {"h200-sxm", "t4", "mi300x"}) {
    const Device device = find(id);
    for (const char* name : kFixtures) {
      const RooflineEstimate estimate = run(make(*fixture(name), 32, Precision::Fp16), device);
      EXPECT_GT(estimate.power_graph_w, 0.5 * device.idle_power_w.value_or(0));
      EXPECT_LE(estimate.power_graph_w, device.power_limit_w);
    }
  }
}

}  // namespace
}  // namespace forerun
