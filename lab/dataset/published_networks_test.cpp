#include "dataset/published_networks.hpp"

#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

TEST(PublishedUnet, HasThePublishedParametersAndOutputs) {
  const auto graph = analyze(*published_unet(), {.batch = 2});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(sum_totals(*graph).parameters, 3'525'650);
  ASSERT_EQ(graph->main().outputs.size(), 2U);
  for (const ValueId out : graph->main().outputs)
    EXPECT_EQ(graph->values[std::size_t(out)].dims, (Dims{2, 1, 96, 128}));
}
TEST(SmallImageResNet18, HasItsParameters) {
  const auto graph = analyze(*small_image_resnet18(), {.batch = 2});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(sum_totals(*graph).parameters, 11'173'962);
}

}  // namespace
}  // namespace forerun
