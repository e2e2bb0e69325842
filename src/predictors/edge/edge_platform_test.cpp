#include "predictors/edge/edge_platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace forerun {
namespace {

using testing::HasSubstr;

EdgePlatform platform() {
  EdgePlatform made{"toy-phone", "Toy phone", "phone", "a phone", "nobody", "2026-11-19", "none", {}};
  EdgeRates& rates = made.rates[Precision::Fp32];
  rates.ms[0] = 10;     // per GMAC of spatial convolutions
  rates.ms[1] = 0.5;    // per MB
  rates.ms[2] = 0.25;   // per kernel
  rates.ms.back() = 2;  // per pass
  rates.half_width = 0.1, rates.far_half_width = 0.5;
  rates.least_gmacs = 0.5, rates.most_gmacs = 2;
  rates.most_share[0] = 1;
  rates.networks = 40;
  return made;
}

std::vector<Kernel> convolutions(std::size_t count, double macs, KernelClass kernel_class = KernelClass::Conv) {
  Kernel one;
  one.kernel_class = kernel_class;
  one.kernel_area = 9;
  one.macs = macs;
  one.read_bytes = one.write_bytes = 1e6;
  return std::vector<Kernel>(count, one);
}

std::string error_of(const std::vector<Kernel>& kernels, const Workload& workload = {}, std::int64_t batch = 1) {
  const auto answer = predict_on_edge(platform(), kernels, workload, batch);
  return answer ? "" : answer.error().message;
}

TEST(EdgePlatform, AnswersWithItsRatesAndTheKernelsAddUp) {
  const auto answer = predict_on_edge(platform(), convolutions(4, 0.25e9), {}, 1);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_NEAR(answer->latency.value, 10 + 0.5 * 8 + 0.25 * 4 + 2, 1e-9);
  EXPECT_NEAR(answer->latency.high / answer->latency.value, std::exp(0.1), 1e-9);
  double us = 0;
  for (const KernelTerms& terms : answer->kernels) us += terms.total();
  EXPECT_NEAR(us / 1e3, answer->latency.value, 1e-9);
}

TEST(EdgePlatform, WidensItsIntervalOutsideOfWhatWasMeasuredAndRefusesFarOff) {
  const auto far = predict_on_edge(platform(), convolutions(8, 0.5e9), {}, 1);
  ASSERT_TRUE(far.has_value());
  EXPECT_NEAR(far->latency.high / far->latency.value, std::exp(0.5), 1e-9);
  EXPECT_THAT(far->warnings.back(), HasSubstr("interval is wider"));
  EXPECT_THAT(error_of(convolutions(8, 5e9)), HasSubstr("too far from those measured"));
}

TEST(EdgePlatform, RefusesWhatWasNeverMeasured) {
  EXPECT_THAT(error_of(convolutions(4, 0.25e9, KernelClass::Attention)), HasSubstr("of class product"));
  EXPECT_THAT(error_of(convolutions(4, 0)), HasSubstr("no convolution or matrix product"));
  EXPECT_THAT(error_of(convolutions(4, 0.25e9), {}, 8), HasSubstr("--batch 1"));
  Workload half, training;
  half.precision = Precision::Fp16;
  training.training = true;
  EXPECT_THAT(error_of(convolutions(4, 0.25e9), half), HasSubstr("take --precision fp32"));
  EXPECT_THAT(error_of(convolutions(4, 0.25e9), training), HasSubstr("only inference"));
}

TEST(EdgePlatform, IsReadBackAsItWasWritten) {
  const EdgePlatform written = platform();
  const auto read = parse_edge_platform(to_json(written), "toy.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->id, written.id);
  EXPECT_EQ(read->rates.at(Precision::Fp32).ms, written.rates.at(Precision::Fp32).ms);
  EXPECT_EQ(to_json(*read), to_json(written));
}

TEST(EdgePlatform, RefusesDamagedFilesInOneLine) {
  const std::string text = to_json(platform());
  const auto error_without = [&](const std::string& part, const std::string& other) {
    std::string changed = text;
    changed.replace(changed.find(part), part.size(), other);
    const auto read = parse_edge_platform(changed, "toy.json");
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(error_without("toy-phone", "Toy/../phone"), HasSubstr("'id'"));
  EXPECT_THAT(error_without("\"ms_per_pass\": 2.0", "\"ms_per_pass\": -2"), HasSubstr("'ms_per_pass'"));
  EXPECT_THAT(error_without("\"fp32\"", "\"fp33\""), HasSubstr("unknown precision"));
  EXPECT_THAT(error_without("\"classes\"", "\"kinds\""), HasSubstr("'classes'"));
  EXPECT_FALSE(parse_edge_platform("[]", "x").has_value());
}

TEST(EdgePlatform, EveryShippedFileIsUsableAndNamesItsSource) {
  const EdgePlatforms all = EdgePlatforms::shipped();
  EXPECT_THAT(all.problems, testing::IsEmpty());
  EXPECT_GE(all.platforms.size(), 12U);
  for (const EdgePlatform& one : all.platforms) {
    EXPECT_FALSE(one.source.empty() || one.date.empty() || one.command.empty() || one.description.empty()) << one.id;
    for (const auto& [precision, rates] : one.rates) EXPECT_LE(rates.half_width, 0.92) << one.id;
  }
}

}  // namespace
}  // namespace forerun
