#include <gtest/gtest.h>

#include "analysis/analyze.hpp"

namespace forerun {
namespace {

ValueId constant(Graph& graph, std::vector<std::int64_t> contents) {
  Value value;
  value.name = "c" + std::to_string(graph.values.size());
  value.dtype = DType::Int64;
  value.has_shape = true;
  value.role = ValueRole::Constant;
  value.dims = {std::int64_t(contents.size())};
  value.literal = Literal{std::move(contents), {}};
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size()) - 1;
}

// One node on constants; the last value is its result.
Graph node_on(OpKind kind, const std::vector<std::vector<std::int64_t>>& operands) {
  Graph graph;
  graph.blocks.emplace_back();
  Node node;
  node.kind = kind;
  node.op_type = "Op";
  for (const auto& contents : operands) node.inputs.push_back(constant(graph, contents));
  graph.values.emplace_back();
  graph.values.back().name = "y";
  node.outputs = {ValueId(graph.values.size()) - 1};
  graph.main().nodes.push_back(std::move(node));
  return graph;
}

// Found by fuzzing: the operands do not broadcast, so their contents must not be combined.
TEST(InferShapes, DoesNotFoldOperandsThatDoNotBroadcast) {
  for (const OpKind kind : {OpKind::Add, OpKind::Equal, OpKind::Where}) {
    std::vector<std::vector<std::int64_t>> operands = {{1, 2}, {1, 2, 3}, {5, 6, 7, 8}};
    if (kind != OpKind::Where) operands.pop_back();
    Graph graph = node_on(kind, operands);
    ASSERT_TRUE(infer_shapes(graph));
    EXPECT_FALSE(graph.values.back().literal.has_value());
    EXPECT_FALSE(graph.warnings.empty());
  }
}

// "SAME" padding as exporters write it: sizes are divided, rounded up and kept above 0.
TEST(InferShapes, FollowsContentsThroughClipAndRelu) {
  using Ints = std::vector<std::int64_t>;
  const auto result = [](OpKind kind, const std::vector<Ints>& operands) {
    Graph graph = node_on(kind, operands);
    EXPECT_TRUE(infer_shapes(graph));
    return graph.values.back().literal ? graph.values.back().literal->ints : Ints{};
  };
  EXPECT_EQ(result(OpKind::Clip, {{-3, 0, 9}, {-1}, {5}}), (Ints{-1, 0, 5}));
  EXPECT_EQ(result(OpKind::Relu, {{-3, 0, 9}}), (Ints{0, 0, 9}));
}

}  // namespace
}  // namespace forerun
