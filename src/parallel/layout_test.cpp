#include "parallel/layout.hpp"

#include <gtest/gtest.h>

#include "devices/catalogue.hpp"
#include "parallel/collectives.hpp"

namespace forerun {
namespace {

TEST(Collectives, ExchangeGrowsWithBytesAndDevices) {
  const Device device = *Catalogue::load()->find("h100-sxm");
  EXPECT_EQ(all_reduce_us(device, 1, 1e6), 0);
  EXPECT_LT(all_reduce_us(device, 2, 1e6), all_reduce_us(device, 8, 1e6));
  EXPECT_LT(all_reduce_us(device, 4, 1e6), all_reduce_us(device, 4, 1e7));
  EXPECT_LT(send_us(device, 1e6), send_us(device, 1e8));
}

Graph decoder(std::int64_t layers, std::int64_t heads) {
  Graph graph;
  graph.blocks.resize(1);
  graph.transformer = TransformerFacts{.layers = layers, .heads = heads, .hidden_size = 64};
  return graph;
}

TEST(Layout, GpusWithoutALayoutMeanTensorElseDataParallelism) {
  EXPECT_EQ(choose_layout(8, {}, true)->tensor, 8);
  EXPECT_EQ(choose_layout(8, {}, false)->data, 8);
  EXPECT_EQ(choose_layout(8, {.tensor = 4, .data = 2}, true)->devices(), 8);
  EXPECT_FALSE(choose_layout(8, {.tensor = 3}, true));
  EXPECT_FALSE(choose_layout(1, {.data = 1 << 20}, true));
}

TEST(Layout, RefusesDegreesThatDoNotDivideTheHeads) {
  EXPECT_TRUE(check_layout(decoder(32, 32), {.tensor = 8}));
  const Status refused = check_layout(decoder(32, 32), {.tensor = 7});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("1, 2, 4, 8, 16, 32"), std::string::npos) << refused.error().message;
}
TEST(Layout, RefusesMoreStagesThanLayers) {
  EXPECT_TRUE(check_layout(decoder(32, 32), {.pipeline = 32}));
  EXPECT_FALSE(check_layout(decoder(32, 32), {.pipeline = 33}));
}
TEST(Layout, NetworksWithoutAConfigurationAllowDataParallelismOnly) {
  Graph graph;
  graph.blocks.resize(1);
  EXPECT_TRUE(check_layout(graph, {.data = 8}));
  EXPECT_FALSE(check_layout(graph, {.tensor = 2}));
}
TEST(Layout, TheLargestShareOfTheBatchDecidesTheStep) {
  EXPECT_EQ(largest_share(9, 8), 2);
  EXPECT_EQ(largest_share(8, 8), 1);
  EXPECT_EQ(largest_share(4, 8), 1);
}

}  // namespace
}  // namespace forerun
