#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.hpp"

namespace forerun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ValueId add_value(Graph& graph, ValueRole role, Dims dims) {
  Value value;
  value.name = "v" + std::to_string(graph.values.size());
  value.dtype = DType::Float32;
  value.has_shape = true;
  value.role = role;
  value.dims = std::move(dims);
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size()) - 1;
}

// x -> node -> y, with a weight as second operand.
Graph one_node(OpKind kind, std::string op_type, Dims x, Dims weight, std::vector<Attribute> attributes) {
  Graph graph;
  graph.blocks.emplace_back();
  Node node;
  node.kind = kind;
  node.op_type = std::move(op_type);
  node.name = "n";
  node.inputs = {add_value(graph, ValueRole::Input, std::move(x))};
  graph.main().inputs = node.inputs;
  if (!weight.empty()) node.inputs.push_back(add_value(graph, ValueRole::Weight, std::move(weight)));
  node.outputs = {add_value(graph, ValueRole::Computed, {})};
  graph.values.back().has_shape = false;
  graph.main().outputs = node.outputs;
  node.attributes = std::move(attributes);
  graph.main().nodes.push_back(std::move(node));
  return graph;
}

using Ints = std::vector<std::int64_t>;

TEST(Verify, AcceptsAConvolutionWhoseAttributesFit) {
  Graph graph = one_node(OpKind::Conv, "Conv", {1, 3, 8, 8}, {4, 3, 3, 3},
                         {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
  ASSERT_TRUE(verify(graph));
  EXPECT_THAT(graph.warnings, IsEmpty());
}

TEST(Verify, WarnsOfAttributesThatContradictTheOperands) {
  const auto warnings = [](OpKind kind, const char* type, Dims weight, std::vector<Attribute> attributes) {
    Graph graph = one_node(kind, type, {1, 3, 8, 8}, std::move(weight), std::move(attributes));
    EXPECT_TRUE(verify(graph)) << "a file may state it: it is still answered";
    return graph.warnings;
  };
  EXPECT_THAT(warnings(OpKind::Conv, "Conv", {4, 3, 3, 3}, {{"pads", Ints{1, 1, 1}}}),
              ElementsAre("Conv 'n': pads has 3 numbers; 2 spatial dimensions need 4"));
  EXPECT_THAT(warnings(OpKind::Conv, "Conv", {4, 3, 3, 3}, {{"strides", Ints{0, 1}}}),
              ElementsAre("Conv 'n': strides contains 0"));
  EXPECT_THAT(warnings(OpKind::Conv, "Conv", {4, 3, 3, 3}, {{"group", std::int64_t{0}}}),
              ElementsAre("Conv 'n': group is 0"));
  EXPECT_THAT(warnings(OpKind::Conv, "Conv", {}, {}), ElementsAre("Conv 'n': has no weight"));
  EXPECT_THAT(warnings(OpKind::MaxPool, "MaxPool", {}, {{"kernel_shape", Ints{2}}}),
              ElementsAre("MaxPool 'n': kernel_shape has 1 numbers; 2 spatial dimensions need 2"));
  EXPECT_THAT(warnings(OpKind::Transpose, "Transpose", {}, {{"perm", Ints{0, 1, 1, 2}}}),
              ElementsAre("Transpose 'n': perm is not a permutation"));
  EXPECT_THAT(warnings(OpKind::Transpose, "Transpose", {}, {{"perm", Ints{1, 0}}}),
              ElementsAre("Transpose 'n': perm has 2 axes, its operand 4"));
}

TEST(Verify, AStoredValueHasNoProducerButAConstant) {
  Graph graph = one_node(OpKind::Relu, "Relu", {4}, {}, {});
  graph.values[std::size_t(graph.main().outputs[0])].role = ValueRole::Weight;
  const Status status = verify(graph);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::Internal);
  EXPECT_THAT(status.error().message, HasSubstr("is stored and made by node Relu 'n'"));
  graph.main().nodes[0].kind = OpKind::Constant;
  EXPECT_TRUE(verify(graph));
}

TEST(Verify, RolesAndInputsAgree) {
  Graph graph = one_node(OpKind::Relu, "Relu", {4}, {}, {});
  graph.values[0].role = ValueRole::Computed;
  EXPECT_FALSE(verify(graph)) << "an input without an input's role";
  graph.values[0].role = ValueRole::Cache;
  EXPECT_TRUE(verify(graph));
  graph.values[1].role = ValueRole::Input;
  EXPECT_FALSE(verify(graph)) << "an input's role on a node's result";
}

TEST(Verify, StoredContentsFillTheirDimensions) {
  Graph graph = one_node(OpKind::Add, "Add", {2}, {2}, {});
  graph.values[1].literal = Literal{{}, {1.0, 2.0}};
  EXPECT_TRUE(verify(graph));
  graph.values[1].literal = Literal{{}, {1.0}};
  EXPECT_FALSE(verify(graph));
}

TEST(Verify, RefusesNegativeSizesOfATransformer) {
  Graph graph = one_node(OpKind::Relu, "Relu", {4}, {}, {});
  graph.transformer = TransformerFacts{.layers = 2, .heads = 4};
  EXPECT_TRUE(verify(graph));
  graph.transformer->experts = -1;
  EXPECT_FALSE(verify(graph));
}

TEST(Verify, OnlyAGraphWrittenOutFromAConfigurationStatesItsRun) {
  Graph graph = one_node(OpKind::Relu, "Relu", {4}, {}, {});
  graph.written_run = WrittenRun{.batch = 2, .sequence = 8};
  EXPECT_FALSE(verify(graph));
  graph.origin.form = GraphForm::WrittenOut;
  EXPECT_TRUE(verify(graph));
  graph.written_run->batch = 0;
  EXPECT_FALSE(verify(graph));
}

}  // namespace
}  // namespace forerun
