// A new advisor is a function and a row like the one here, which the program would have in advice/advisors.cpp.
#include <gtest/gtest.h>

#include "advice/advice.hpp"

namespace forerun {
namespace {

// Boards that draw nearly their limit lower their clocks.
Status advise_power_limit(const AdviceInput& input, Advice&, std::vector<std::string>& warnings) {
  const Estimate* power = input.estimates.find(Metric::Power);
  if (power != nullptr && input.device.power_limit_w > 0 && power->value > 0.9 * input.device.power_limit_w)
    warnings.push_back(input.device.id + " runs near its power limit: expect lower clocks");
  return ok();
}

constexpr Advisor kPowerLimit = {"power_limit", advise_power_limit};

std::vector<std::string> warnings_at(double power_w) {
  Device device;
  device.id = "card";
  device.memory_gib = 16;
  device.power_limit_w = 100;
  Estimates estimates;
  estimates.set(Metric::DeviceMemory, {1024, 1000, 1100, Basis::Roofline, "roofline"});
  estimates.set(Metric::Power, {power_w, power_w, power_w, Basis::Roofline, "roofline"});
  const Grid grid;
  const AdviceOptions options;
  const AdviceInput input{
      .device = device, .estimates = estimates, .slices = {}, .slice_latency_ms = {}, .grid = grid, .options = options};
  Advice advice;
  std::vector<std::string> warnings;
  EXPECT_TRUE(advise_fit(input, advice, warnings));
  EXPECT_TRUE(kPowerLimit.advise(input, advice, warnings));
  EXPECT_TRUE(advice.fits);  // the rows before it keep what they said
  return warnings;
}

TEST(ExampleAdvisor, WarnsNearThePowerLimitOnly) {
  EXPECT_TRUE(warnings_at(80).empty());
  ASSERT_EQ(warnings_at(95).size(), 1u);
  EXPECT_EQ(warnings_at(95)[0], "card runs near its power limit: expect lower clocks");
}

TEST(ExampleAdvisor, ItsNameIsFree) {
  for (const Advisor& advisor : all_advisors()) EXPECT_NE(advisor.name, kPowerLimit.name);
}

}  // namespace
}  // namespace forerun
