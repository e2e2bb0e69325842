#include "dataset/published_networks.hpp"

#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

Result<Graph> of_two_samples(const Network& network) {
  Binding binding;
  binding.batch = 2;
  return analyze(network, binding);
}

TEST(PublishedUnet, HasThePublishedParametersAndOutputs) {
  const auto graph = of_two_samples(*published_unet());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(sum_totals(*graph).parameters, 3'525'650);
  ASSERT_EQ(graph->main().outputs.size(), 2U);
  for (const ValueId out : graph->main().outputs)
    EXPECT_EQ(graph->values[std::size_t(out)].dims, (Dims{2, 1, 96, 128}));
}
TEST(SmallImageResNet18, HasItsParameters) {
  const auto graph = of_two_samples(*small_image_resnet18());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(sum_totals(*graph).parameters, 11'173'962);
}

}  // namespace
}  // namespace forerun
