// A new predictor implements `Predictor`; in the program it would also have a row in predictors/predictor_set.cpp.
#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "devices/catalogue.hpp"
#include "predictors/kernel_times.hpp"
#include "predictors/predictor.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/roofline/roofline_predictor.hpp"
#include "readers/reader.hpp"

namespace forerun {
namespace {

// Twice the analytic latency, on NVIDIA devices.
class TwiceAnalytic final : public Predictor {
 public:
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<Metric> metrics() const override { return {Metric::Latency}; }
  [[nodiscard]] Status covers(const PredictorInput& input) const override {
    if (input.device.maker == "NVIDIA") return ok();
    return bad_input("predictor '" + name_ + "' answers for NVIDIA devices only; take 'roofline'");
  }
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override {
    Answer answer = analytic_answer(input);
    Estimate latency = answer.estimates.at(Metric::Latency);
    scale(latency, 2);
    latency.predictor = name_;
    answer.estimates.set(Metric::Latency, latency);
    return answer;
  }

 private:
  std::string name_ = "twice";
};

struct Asked {
  Graph graph;
  Totals totals;
  Workload workload;
  Device device;
  std::vector<Kernel> kernels;
  std::vector<std::uint32_t> group_of;
  std::vector<KernelGroup> groups;
  RooflineEstimate roofline;

  [[nodiscard]] PredictorInput input() const {
    return {graph, totals, kernels, workload, device, roofline, groups, group_of};
  }
};

void ask(const char* device, Runtime runtime, Asked& asked) {
  const auto network = read_network(std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/resnet50.onnx");
  ASSERT_TRUE(network) << network.error().message;
  asked.workload.binding.batch = 8;
  asked.workload.runtime = runtime;
  asked.graph = analyze(**network, asked.workload.binding).value();
  asked.totals = sum_totals(asked.graph);
  asked.device = Catalogue::load()->find(device).value();
  asked.kernels = list_kernels(asked.graph, asked.workload);
  asked.groups = group_kernels(asked.kernels, &asked.group_of);
  asked.roofline = estimate_roofline(asked.graph, asked.kernels, asked.workload, asked.device);
}

TEST(ExamplePredictor, BreakdownAddsUpToItsLatency) {
  const TwiceAnalytic twice;
  for (const Runtime runtime : {Runtime::Eager, Runtime::Graph}) {
    Asked asked;
    ask("l4", runtime, asked);
    const PredictorInput input = asked.input();
    ASSERT_TRUE(twice.covers(input));
    auto answer = twice.predict(input);
    ASSERT_TRUE(answer);
    fit_kernels_to_latency(input, *answer);
    const double latency_ms = answer->estimates.at(Metric::Latency).value;
    EXPECT_NEAR(latency_ms, 2 * asked.roofline.latency_ms(runtime), 1e-9 * latency_ms);
    ASSERT_EQ(answer->kernels.size(), asked.kernels.size());
    double sum_us = 0, other_us = 0;
    for (const KernelTerms& terms : answer->kernels) {
      sum_us += terms.total();
      other_us += runtime == Runtime::Eager ? terms.host : terms.learned;
    }
    EXPECT_NEAR(sum_us, 1e3 * latency_ms, 1e-6 * sum_us);
    EXPECT_GT(other_us, 0);  // what doubling added has a name: waiting for the host when eager, else learned
  }
}

TEST(ExamplePredictor, RefusesDevicesItDoesNotCover) {
  Asked asked;
  ask("mi210", Runtime::Eager, asked);
  const Status covered = TwiceAnalytic().covers(asked.input());
  ASSERT_FALSE(covered);
  EXPECT_NE(covered.error().message.find("take 'roofline'"), std::string::npos);
}

}  // namespace
}  // namespace forerun
