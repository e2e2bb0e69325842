// Edits of real networks: what they promise to keep, they keep.
#include "advice/optimise/graph_edits.hpp"

#include <gtest/gtest.h>

#include <map>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/networks.hpp"

namespace forerun {
namespace {

struct Analysed {
  Graph graph;
  Totals totals;
};

Analysed analyse(const Network& network) {
  Binding binding;
  binding.batch = 2;
  Result<Graph> graph = analyze(network, binding);
  EXPECT_TRUE(graph) << graph.error().message;
  Totals totals = sum_totals(*graph);
  return {std::move(*graph), std::move(totals)};
}

struct BeforeAfter {
  Analysed before, after;
};
BeforeAfter apply(const char* name, const GraphEdit& edit) {
  std::shared_ptr<const Network> network = find_network(name).value();
  const GraphEdit* const edits[] = {&edit};
  return {analyse(*network), analyse(*edited(network, edits))};
}

std::int64_t count(const Analysed& a, const char* op) {
  const auto found = a.totals.operators.find(op);
  return found == a.totals.operators.end() ? 0 : found->second.count;
}

std::int64_t widest_result(const Analysed& a) {
  std::int64_t widest = 0;
  for (const ValueId id : a.graph.main().outputs)
    widest = std::max(widest, a.graph.values[std::size_t(id)].dims.back());
  return widest;
}

TEST(JoinProducts, KeepsArithmeticAndParameters) {
  const auto [before, after] = apply("bert-base-uncased", {"join-products", join_products});
  EXPECT_EQ(before.totals.macs, after.totals.macs);
  EXPECT_EQ(before.totals.parameters, after.totals.parameters);
  EXPECT_EQ(after.totals.coverage, 1);
  EXPECT_EQ(count(before, "MatMul") - count(after, "MatMul"), 12 * 2);  // query, key and value of 12 layers
  EXPECT_EQ(count(after, "Split"), 12);
}

TEST(JoinProducts, JoinsGateAndUpProjections) {
  const auto [before, after] = apply("llama-3-8b", {"join-products", join_products});
  EXPECT_EQ(before.totals.macs, after.totals.macs);
  EXPECT_EQ(before.totals.parameters, after.totals.parameters);
  EXPECT_EQ(count(before, "MatMul") - count(after, "MatMul"), 32 * 3);
}

TEST(FoldNorms, RemovesEveryNormBehindAConvolution) {
  const auto [before, after] = apply("resnet50", {"fold-norms", fold_norms});
  EXPECT_EQ(count(before, "BatchNormalization"), 53);
  EXPECT_EQ(count(after, "BatchNormalization"), 0);
  EXPECT_EQ(before.totals.macs, after.totals.macs);
  EXPECT_EQ(after.totals.coverage, 1);
}

TEST(AlignWidths, WidensAVocabularyToAMultipleOfEight) {
  const auto [before, after] = apply("gpt2", {"align-widths", align_widths});
  EXPECT_EQ(widest_result(before), 50257);
  EXPECT_EQ(widest_result(after), 50264);
}

TEST(ShrinkWindows, KeepsShapesAndSavesArithmetic) {
  const auto [before, after] = apply("resnet50", {"shrink-windows", shrink_windows});
  const auto output = [](const Analysed& a) { return a.graph.values[std::size_t(a.graph.main().outputs[0])].dims; };
  EXPECT_EQ(output(before), output(after));
  const std::int64_t stem = 2 * 112 * 112 * 64 * 3;  // multiply-adds of the stem, by position in its window
  EXPECT_EQ(before.totals.macs - after.totals.macs, stem * (49 - 9));
}

TEST(EditedNetwork, RefusesAnEditWithoutAPlace) {
  std::shared_ptr<const Network> network = find_network("bert-base-uncased").value();
  const GraphEdit edit{"fold-norms", fold_norms};
  const GraphEdit* const edits[] = {&edit};
  const auto graph = edited(network, edits)->expand({});
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("fold-norms"), std::string::npos);
}

// A small image network of odd widths: a convolution, a norm, a depthwise convolution, a residual sum.
Graph odd_network() {
  Graph graph;
  const auto value = [&graph](std::string name, Dims dims, ValueRole role) {
    Value v;
    v.name = std::move(name);
    v.dtype = DType::Float32;
    v.role = role;
    v.has_shape = role != ValueRole::Computed;
    v.dims = std::move(dims);
    graph.values.push_back(std::move(v));
    return ValueId(graph.values.size() - 1);
  };
  const auto weight = [&](const char* name, Dims dims) { return value(name, std::move(dims), ValueRole::Weight); };
  const auto computed = [&](const char* name) { return value(name, {}, ValueRole::Computed); };
  Block block;
  const auto node = [&block](OpKind kind, const char* type, std::vector<ValueId> inputs, ValueId output,
                             std::vector<Attribute> attributes = {}) {
    Node n;
    n.kind = kind;
    n.op_type = n.name = type;
    n.inputs = std::move(inputs);
    n.outputs = {output};
    n.attributes = std::move(attributes);
    block.nodes.push_back(std::move(n));
    return output;
  };
  const std::vector<std::int64_t> pads{1, 1, 1, 1};
  const ValueId image = value("image", {1, 3, 16, 16}, ValueRole::Input);
  const ValueId stem = node(OpKind::Conv, "Conv", {image, weight("w0", {13, 3, 3, 3}), weight("b0", {13})},
                            computed("stem"), {{"pads", pads}});
  const ValueId norm =
      node(OpKind::BatchNormalization, "BatchNormalization",
           {stem, weight("s", {13}), weight("h", {13}), weight("m", {13}), weight("v", {13})}, computed("norm"));
  const ValueId deep = node(OpKind::Conv, "Conv", {norm, weight("w1", {13, 1, 3, 3})}, computed("deep"),
                            {{"pads", pads}, {"group", std::int64_t{13}}});
  const ValueId sum = node(OpKind::Add, "Add", {norm, deep}, computed("sum"));
  const ValueId pooled = node(OpKind::GlobalAveragePool, "GlobalAveragePool", {sum}, computed("pooled"));
  const ValueId classes = node(OpKind::Conv, "Conv", {pooled, weight("w2", {10, 13, 1, 1})}, computed("classes"));
  block.inputs = {image};
  block.outputs = {classes};
  graph.blocks.push_back(std::move(block));
  return graph;
}

TEST(AlignWidths, WidensEveryLayerThatSharesTheChannelsAndLeavesResults) {
  Graph graph = odd_network();
  EXPECT_EQ(align_widths(graph), 1U);
  ASSERT_TRUE(verify(graph));
  std::map<std::string, Dims> dims;
  for (const Value& value : graph.values) dims[value.name] = value.dims;
  EXPECT_EQ(dims["w0"], (Dims{16, 3, 3, 3}));
  EXPECT_EQ(dims["b0"], (Dims{16}));
  EXPECT_EQ(dims["v"], (Dims{16}));
  EXPECT_EQ(dims["w1"], (Dims{16, 1, 3, 3}));
  EXPECT_EQ(dims["w2"], (Dims{10, 16, 1, 1}));
  EXPECT_EQ(int_attribute(graph.main().nodes[2], "group", 0), 16);
}

TEST(AlignWidths, LeavesChannelsThatAReshapeTakesApart) {
  Graph graph = odd_network();
  Node& pool = graph.main().nodes[4];
  pool.kind = OpKind::Flatten;
  pool.op_type = "Flatten";
  EXPECT_EQ(align_widths(graph), 0U);
}

}  // namespace
}  // namespace forerun
