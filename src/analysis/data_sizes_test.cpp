#include "analysis/data_sizes.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

ValueId add_value(Graph& graph, Dims dims) {
  Value value;
  value.has_shape = true;
  value.dims = std::move(dims);
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size() - 1);
}

Node make_node(OpKind kind, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node node;
  node.kind = kind;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

TEST(DataSizes, FollowFromNonZeroButNotIntoShapesOrBackwards) {
  Graph graph;
  const ValueId x = add_value(graph, {4, 5}), places = add_value(graph, {2, 20}), shape = add_value(graph, {2}),
                gathered = add_value(graph, {20, 5}), other = add_value(graph, {4, 5}), one = add_value(graph, {1});
  graph.blocks.emplace_back();
  graph.blocks[0].nodes = {make_node(OpKind::NonZero, {x}, {places}), make_node(OpKind::Shape, {places}, {shape}),
                           make_node(OpKind::Gather, {x, places}, {gathered}), make_node(OpKind::Relu, {x}, {other}),
                           make_node(OpKind::ReduceSum, {gathered}, {one})};
  const std::vector<bool> bounds = sizes_from_data(graph);
  EXPECT_TRUE(bounds[std::size_t(places)] && bounds[std::size_t(gathered)]);
  EXPECT_FALSE(bounds[std::size_t(x)] || bounds[std::size_t(shape)] || bounds[std::size_t(other)]);
  EXPECT_FALSE(bounds[std::size_t(one)]) << "one number is one number";
}

TEST(DataSizes, ALoopOfUnknownLengthLeavesWhatItStacksOpen) {
  Graph graph;
  const ValueId trips = add_value(graph, {}), go_on = add_value(graph, {}), start = add_value(graph, {3}),
                last = add_value(graph, {3}), stacked = add_value(graph, {1, 1});
  graph.blocks.resize(2);
  Node loop = make_node(OpKind::Loop, {trips, go_on, start}, {last, stacked});
  loop.blocks = {{"body", 1}};
  graph.blocks[0].nodes = {loop};
  EXPECT_TRUE(sizes_from_data(graph)[std::size_t(stacked)]);
  EXPECT_FALSE(sizes_from_data(graph)[std::size_t(last)]);
  graph.values[std::size_t(trips)].literal = Literal{{7}, {}};
  EXPECT_FALSE(sizes_from_data(graph)[std::size_t(stacked)]) << "seven steps";
}

}  // namespace
}  // namespace forerun
