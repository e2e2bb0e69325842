// MIG rules, prices and carbon.
#include <gtest/gtest.h>

#include "advice/carbon.hpp"
#include "advice/cost.hpp"
#include "advice/mig.hpp"
#include "devices/catalogue.hpp"

namespace forerun {
namespace {

TEST(MigMemoryRule, ReproducesThePublishedCases) {
  EXPECT_EQ(mig_by_memory_rule(2865), "1g.5gb");
  EXPECT_EQ(mig_by_memory_rule(5952), "2g.10gb");
  EXPECT_EQ(mig_by_memory_rule(6736), "2g.10gb");
  EXPECT_EQ(mig_by_memory_rule(26439), "7g.40gb");
  EXPECT_EQ(mig_by_memory_rule(41000), std::nullopt);
}

Device card(const char* id) {
  const auto catalogue = Catalogue::load();
  return catalogue->find(id).value();
}

// Latency falls with the slice's multiprocessors.
std::vector<SliceEstimate> slices_of_card(const char* id, double memory_mb) {
  const std::vector<MigSlice> slices = list_slices(card(id));
  std::vector<double> latency_ms;
  for (const MigSlice& slice : slices) latency_ms.push_back(1000.0 / slice.device.sm_count);
  return estimate_slices(slices, memory_mb, 8, latency_ms);
}

TEST(MigAdvice, TakesTheSmallestSliceThatHoldsTheProcess) {
  const auto advice = advise_mig(slices_of_card("h200-sxm", 9000), 9000, std::nullopt);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->profile, "1g.18gb");
  EXPECT_EQ(advice->instances, 7);
  const auto larger = advise_mig(slices_of_card("h200-sxm", 40000), 40000, std::nullopt);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->profile, "3g.71gb");
  EXPECT_FALSE(advise_mig(slices_of_card("h200-sxm", 200000), 200000, std::nullopt));
  EXPECT_TRUE(slices_of_card("t4", 9000).empty());
}

TEST(MigAdvice, KeepsTheLatencyLimit) {
  const auto slices = slices_of_card("a100-sxm-40gb", 2000);
  const auto advice = advise_mig(slices, 2000, 20.0);
  ASSERT_TRUE(advice);
  for (const SliceEstimate& slice : slices) {
    if (slice.profile.profile == advice->profile) {
      EXPECT_LE(slice.latency_ms, 20.0);
    }
  }
  EXPECT_FALSE(advise_mig(slices, 2000, 0.001));
}

TEST(MigAdvice, TheMemoryRuleCountsInstances) {
  const auto advice = advise_mig_by_memory_rule(slices_of_card("a100-sxm-40gb", 2865), 2865);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->profile, "1g.5gb");
  EXPECT_EQ(advice->instances, 7);
}

TEST(Prices, CarryTheirKindAndDate) {
  const auto price = find_price("h100-sxm", "on_demand");
  ASSERT_TRUE(price);
  EXPECT_GT(price->usd_per_hour, 0.5);
  EXPECT_LT(price->usd_per_hour, 20);
  EXPECT_FALSE(price->date.empty());
  EXPECT_FALSE(find_price("no-such-device", "on_demand"));
}

TEST(Carbon, KnowsCountriesAndCloudRegions) {
  const auto world = find_grid("");
  ASSERT_TRUE(world);
  EXPECT_EQ(world->region, "world");
  EXPECT_GT(world->g_per_kwh, 300);
  const auto france = find_grid("FRA");
  ASSERT_TRUE(france);
  EXPECT_LT(france->g_per_kwh, 150);
  EXPECT_EQ(find_grid("fr")->g_per_kwh, france->g_per_kwh);
  EXPECT_TRUE(find_grid("aws:eu-west-1"));
  EXPECT_TRUE(find_grid("eu-west-1"));
}

TEST(Carbon, RefusesAnUnknownRegion) {
  const auto grid = find_grid("atlantis");
  ASSERT_FALSE(grid);
  EXPECT_EQ(grid.error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace forerun
