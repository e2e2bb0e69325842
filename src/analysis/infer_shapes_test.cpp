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

// One node on an input of these dimensions, with integer constants after it (an empty list: left out).
Graph node_on_input(OpKind kind, DType type, Dims dims, const std::vector<std::vector<std::int64_t>>& operands,
                    std::vector<Attribute> attributes) {
  Graph graph = node_on(kind, {});
  graph.opset = 20;
  Value input;
  input.name = "x";
  input.dtype = type;
  input.has_shape = true;
  input.role = ValueRole::Input;
  input.dims = std::move(dims);
  graph.values.push_back(std::move(input));
  Node& node = graph.main().nodes[0];
  node.inputs = {ValueId(graph.values.size()) - 1};
  graph.main().inputs = node.inputs;
  for (const auto& contents : operands) {
    node.inputs.push_back(contents.empty() ? kNoValue : constant(graph, contents));
  }
  node.attributes = std::move(attributes);
  return graph;
}

Value result_of(Graph graph) {
  EXPECT_TRUE(infer_shapes(graph));
  return graph.values[std::size_t(graph.main().nodes[0].outputs[0])];
}

// Found by mutation: a damaged target was assumed, and its size overflowed.
TEST(ReshapeShape, AnAbsurdTargetIsNotAssumed) {
  const std::int64_t huge = std::int64_t{1} << 56;
  const auto result = [](std::int64_t rows) {
    return result_of(node_on_input(OpKind::Reshape, DType::Float32, {4, 8}, {{rows, 8}}, {}));
  };
  EXPECT_FALSE(result(huge).has_shape);
  EXPECT_EQ(result(16).dims, (Dims{16, 8}));
}

TEST(DftShape, OneSidedAndInverseGivesARealSignal) {
  const Attribute inverse{"inverse", std::int64_t{1}}, onesided{"onesided", std::int64_t{1}};
  const auto dims = [&](Dims x, std::vector<std::vector<std::int64_t>> operands, std::vector<Attribute> attributes) {
    return result_of(node_on_input(OpKind::DFT, DType::Float32, std::move(x), operands, std::move(attributes))).dims;
  };
  EXPECT_EQ(dims({2, 9, 2}, {}, {inverse, onesided}), (Dims{2, 16, 1}));
  EXPECT_EQ(dims({2, 9, 2}, {{17}}, {inverse, onesided}), (Dims{2, 17, 1})) << "the length that is asked for";
  EXPECT_EQ(dims({2, 16, 1}, {}, {onesided}), (Dims{2, 9, 2}));
  EXPECT_EQ(dims({2, 3, 16, 1}, {}, {onesided}), (Dims{2, 3, 9, 2})) << "opset 20: along the last but one";
  EXPECT_EQ(dims({2, 16, 2}, {}, {inverse}), (Dims{2, 16, 2}));
}

TEST(MaxUnpoolShape, ASizeGivenAtRunTimeIsNotGuessed) {
  const Attribute kernel{"kernel_shape", std::vector<std::int64_t>{2, 2}};
  const Attribute strides{"strides", std::vector<std::int64_t>{2, 2}};
  Graph graph = node_on_input(OpKind::MaxUnpool, DType::Float32, {1, 1, 2, 2}, {{0, 1, 2, 3}}, {kernel, strides});
  EXPECT_EQ(result_of(graph).dims, (Dims{1, 1, 4, 4}));
  Node& node = graph.main().nodes[0];
  node.inputs.push_back(constant(graph, {1, 1, 5, 5}));
  EXPECT_EQ(result_of(graph).dims, (Dims{1, 1, 5, 5}));
  graph.values.back().literal.reset();
  graph.values.back().role = ValueRole::Input;
  EXPECT_FALSE(result_of(graph).has_shape);
}

TEST(ResultType, FollowsTheOperandsAndTheTables) {
  const auto type_of = [](OpKind kind, DType input, std::vector<Attribute> attributes) {
    return result_of(node_on_input(kind, input, {3, 3}, {}, std::move(attributes))).dtype;
  };
  EXPECT_EQ(type_of(OpKind::EyeLike, DType::Int32, {}), DType::Int32);
  EXPECT_EQ(type_of(OpKind::EyeLike, DType::Int32, {{"dtype", std::int64_t(DType::Float64)}}), DType::Float64);
  EXPECT_EQ(type_of(OpKind::TreeEnsemble, DType::Float64, {}), DType::Float64);
  EXPECT_EQ(type_of(OpKind::TreeEnsembleRegressor, DType::Float64, {}), DType::Float32);
  const Attribute values{"values_tensor_dtype", std::int64_t(DType::Int16)};
  EXPECT_EQ(type_of(OpKind::LabelEncoder, DType::String, {values}), DType::Int16);
  EXPECT_EQ(type_of(OpKind::LabelEncoder, DType::String, {}), DType::Int64);
}

TEST(InferShapes, ReportsAFaultOfManyNodesOnce) {
  Graph graph;
  graph.blocks.emplace_back();
  const ValueId a = constant(graph, {1, 2}), b = constant(graph, {1, 2, 3});
  for (int i = 0; i < 3; ++i) {
    Node node;
    node.kind = OpKind::Add;
    node.op_type = "Add";
    node.name = "n" + std::to_string(i);
    node.inputs = {a, b};
    graph.values.emplace_back();
    node.outputs = {ValueId(graph.values.size()) - 1};
    graph.main().nodes.push_back(std::move(node));
  }
  ASSERT_TRUE(infer_shapes(graph));
  EXPECT_EQ(graph.warnings, (std::vector<std::string>{"Add 'n0': shapes do not broadcast; the largest operand's is "
                                                      "assumed (and of 2 more Add nodes)"}));
}

}  // namespace
}  // namespace forerun
