#include <gtest/gtest.h>

#include "analysis/analyze.hpp"

namespace forerun {
namespace {

ValueId constant(Graph& graph, std::vector<std::int64_t> contents) {
  Value value;
  value.name = "c" + std::to_string(graph.values.size());
  value.dtype = DType::Int64;
  value.has_shape = value.is_initializer = true;
  value.dims = {std::int64_t(contents.size())};
  value.literal = Literal{std::move(contents), {}};
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size()) - 1;
}

// Found by fuzzing: the operands do not broadcast, so their contents must not be combined.
TEST(InferShapes, DoesNotFoldOperandsThatDoNotBroadcast) {
  for (const OpKind kind : {OpKind::Add, OpKind::Equal, OpKind::Where}) {
    Graph graph;
    graph.format = "onnx";
    graph.blocks.emplace_back();
    Node node;
    node.kind = kind;
    node.op_type = "Op";
    node.inputs = {constant(graph, {1, 2}), constant(graph, {1, 2, 3}), constant(graph, {5, 6, 7, 8})};
    if (kind != OpKind::Where) node.inputs.pop_back();
    graph.values.emplace_back();
    graph.values.back().name = "y";
    node.outputs = {ValueId(graph.values.size()) - 1};
    graph.main().nodes.push_back(std::move(node));
    ASSERT_TRUE(infer_shapes(graph));
    EXPECT_FALSE(graph.values.back().literal.has_value());
    EXPECT_FALSE(graph.warnings.empty());
  }
}

// "SAME" padding as exporters write it: sizes are divided, rounded up and kept above 0.
TEST(InferShapes, FollowsContentsThroughClipAndRelu) {
  for (const OpKind kind : {OpKind::Clip, OpKind::Relu}) {
    Graph graph;
    graph.format = "onnx";
    graph.blocks.emplace_back();
    Node node;
    node.kind = kind;
    node.op_type = kind == OpKind::Clip ? "Clip" : "Relu";
    node.inputs = {constant(graph, {-3, 0, 9})};
    if (kind == OpKind::Clip) {
      node.inputs.push_back(constant(graph, {-1}));
      node.inputs.push_back(constant(graph, {5}));
    }
    graph.values.emplace_back();
    graph.values.back().name = "y";
    node.outputs = {ValueId(graph.values.size()) - 1};
    graph.main().nodes.push_back(std::move(node));
    ASSERT_TRUE(infer_shapes(graph));
    ASSERT_TRUE(graph.values.back().literal.has_value());
    EXPECT_EQ(graph.values.back().literal->ints, (kind == OpKind::Clip ? std::vector<std::int64_t>{-1, 0, 5} : std::vector<std::int64_t>{0, 0, 9}));
  }
}

}  // namespace
}  // namespace forerun
