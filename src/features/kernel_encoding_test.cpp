// Edges between kernels and the shape of our own encoding, on graphs small enough to check by hand.
#include "features/kernel_encoding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "features/node_encoding.hpp"

namespace forerun {
namespace {

// x -> Conv(w) -> Relu -> Reshape -> MatMul(v) -> out, and Relu -> Add(out of Conv): six nodes, one of them a view.
Graph small_graph() {
  Graph graph;
  const auto add_value = [&graph](const char* name, Dims dims, bool initializer = false) {
    Value value;
    value.name = name;
    value.dtype = DType::Float32;
    value.has_shape = true;
    value.is_constant = initializer;
    if (initializer) value.role = ValueRole::Weight;
    value.dims = std::move(dims);
    graph.values.push_back(value);
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  const ValueId x = add_value("x", {2, 3, 8, 8}), w = add_value("w", {4, 3, 3, 5}, true),
                c = add_value("c", {2, 4, 4, 4});
  const ValueId r = add_value("r", {2, 4, 4, 4}), s = add_value("s", {2, 4, 4, 4}), f = add_value("f", {2, 64});
  const ValueId v = add_value("v", {64, 10}, true), y = add_value("y", {2, 10});
  graph.blocks.resize(1);
  graph.main().inputs = {x};
  graph.main().outputs = {y};
  const auto add_node = [&graph](OpKind kind, std::vector<ValueId> inputs, ValueId output, std::int64_t macs) {
    Node node;
    node.kind = kind;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.cost.macs = macs;
    node.cost.known = true;
    graph.main().nodes.push_back(std::move(node));
  };
  add_node(OpKind::Conv, {x, w}, c, 5760);
  graph.main().nodes.back().attributes = {{"strides", std::vector<std::int64_t>{2, 3}},
                                          {"pads", std::vector<std::int64_t>{1, 2, 3, 4}},
                                          {"dilations", std::vector<std::int64_t>{1, 2}},
                                          {"group", std::int64_t{1}}};
  graph.main().nodes.back().cost.parameters = 180;
  add_node(OpKind::Relu, {c}, r, 0);
  add_node(OpKind::Add, {r, c}, s, 0);
  add_node(OpKind::Reshape, {s}, f, 0);
  add_node(OpKind::MatMul, {f, v}, y, 1280);
  return graph;
}

TEST(InferenceEncoding, HasOperatorAttributesAndOutputShapeInTheirColumns) {
  const GraphTensors t = encode_inference_nodes(small_graph(), Workload{}, EdgeKind::DataFlow);
  ASSERT_EQ(t.nodes, 5);
  ASSERT_EQ(t.node_width, 32);
  const std::vector<float> conv(t.node_features.begin(), t.node_features.begin() + 32);
  const std::vector<float> expected = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  // conv
                                       2, 3, 1, 2, 3, 4, 1, 2, 1, 4, 3, 5, 2, 4, 4, 4};
  EXPECT_EQ(conv, expected);
  EXPECT_EQ(t.node_features[4 * 32 + 2], 1);   // a product with a weight is dense
  EXPECT_EQ(t.node_features[4 * 32 + 28], 2);  // its output is 2 x 10
  EXPECT_EQ(t.node_features[4 * 32 + 29], 10);
  EXPECT_EQ(t.node_features[4 * 32 + 30], 0);
  EXPECT_EQ(t.globals, (std::vector<float>{2, 7040e-9F, 1, 1, 1}));
  EXPECT_EQ(inference_feature_names().size(), 32u + 5u);
}

TEST(InferenceEncoding, JoinsNodesInAChainOrByDataFlow) {
  const GraphTensors chain = encode_inference_nodes(small_graph(), Workload{}, EdgeKind::Chain);
  EXPECT_EQ(chain.sources.columns, (std::vector<std::int32_t>{0, 1, 2, 3}));
  const GraphTensors flow = encode_inference_nodes(small_graph(), Workload{}, EdgeKind::DataFlow);
  EXPECT_EQ(flow.sources.offsets, (std::vector<std::int32_t>{0, 0, 1, 3, 4, 5}));
  EXPECT_EQ(flow.sources.columns, (std::vector<std::int32_t>{0, 0, 1, 2, 3}));
}

TEST(TrainingEncoding, HasOneHundredAndThirteenColumns) {
  const GraphTensors t = encode_training_nodes(small_graph(), Workload{}, EdgeKind::DataFlow);
  ASSERT_EQ(t.node_width, 113);
  EXPECT_EQ(t.node_features.size(), 5u * 113u);
  float operators = 0;
  for (std::int32_t i = 0; i < kTrainingOperators; ++i) operators += t.node_features[static_cast<std::size_t>(i)];
  EXPECT_EQ(operators, 1);
  EXPECT_FLOAT_EQ(t.node_features[98], std::log1p(2.0F));  // input 2 x 3 x 8 x 8
  EXPECT_FLOAT_EQ(t.node_features[101], std::log1p(8.0F));
  EXPECT_EQ(t.node_features[102], 0);
  EXPECT_FLOAT_EQ(t.node_features[105], std::log1p(4.0F));     // output 2 x 4 x 4 x 4
  EXPECT_FLOAT_EQ(t.node_features[110], std::log1p(5760.0F));  // MACs
  EXPECT_FLOAT_EQ(t.node_features[111], std::log1p(180.0F));   // parameters
  EXPECT_EQ(t.globals.size(), 6u);
  EXPECT_FLOAT_EQ(t.globals[1], std::log1p(5.0F));
  EXPECT_EQ(training_feature_names().size(), 113u + 6u);
}

TEST(KernelEdges, FollowDataThroughViewsAndBackInTraining) {
  const Graph graph = small_graph();
  const auto kernel = [](NodeId node, Stage stage) {
    Kernel k;
    k.node = node;
    k.stage = stage;
    return k;
  };
  const std::vector<Kernel> kernels = {
      kernel(0, Stage::Forward),  kernel(1, Stage::Forward),  kernel(2, Stage::Forward), kernel(4, Stage::Forward),
      kernel(4, Stage::Backward), kernel(0, Stage::Backward), kernel(-1, Stage::Update)};
  const SparseRows rows = make_sparse_rows(7, kernel_edges(graph, kernels));
  const auto sources = [&rows](std::int32_t node) {
    return std::vector<std::int32_t>(rows.row(node).begin(), rows.row(node).end());
  };
  EXPECT_EQ(sources(1), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(sources(2), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(sources(3), (std::vector<std::int32_t>{2}));  // through the reshape
  EXPECT_EQ(sources(4), (std::vector<std::int32_t>{3}));  // its own forward kernel
  EXPECT_EQ(sources(6), (std::vector<std::int32_t>{5}));
}

TEST(KernelEncoding, NamesEveryColumnAndSumsUpToTheRoofline) {
  const Graph graph = small_graph();
  std::vector<Kernel> kernels(2);
  kernels[0].node = 0;
  kernels[1].node = 4;
  kernels[1].runs = 3;
  RooflineEstimate roofline;
  roofline.kernels = {KernelTime{.time_us = 5}, KernelTime{.time_us = 30}};
  roofline.host_ms = 0.04;
  roofline.memory.total_mb = 12;
  const KernelTensors t = encode_kernels(graph, sum_totals(graph), kernels, roofline, Device{}, Workload{});
  EXPECT_EQ(t.graph.node_features.size(), 2 * kernel_feature_names().size());
  EXPECT_EQ(t.graph.globals.size(), kernel_global_feature_names().size());
  EXPECT_EQ(kernel_global_feature_names()[kernel_setting_count()], "log_host_share");
  EXPECT_FLOAT_EQ(t.device_ms[1], 0.030F);
  EXPECT_FLOAT_EQ(t.host_ms[0], 0.01F);
  EXPECT_FLOAT_EQ(t.host_ms[1], 0.03F);
  EXPECT_EQ(t.memory_mb, 12);
  for (const float number : t.graph.node_features) EXPECT_TRUE(std::isfinite(number));
}

TEST(KernelEncoding, JoinsEqualKernelsAndTheirEdges) {
  const Graph graph = small_graph();
  std::vector<Kernel> kernels(4);  // Conv, Relu, Add, MatMul: the second and the third are equal
  for (std::size_t i = 0; i < 4; ++i) kernels[i].node = static_cast<NodeId>(i < 3 ? i : 4);
  kernels[0].m = 8;
  kernels[3].m = 16;
  kernels[2].runs = 2;
  RooflineEstimate roofline;
  roofline.kernels = {KernelTime{.time_us = 5}, KernelTime{.time_us = 7}, KernelTime{.time_us = 14},
                      KernelTime{.time_us = 30}};
  roofline.host_ms = 0.05;
  const KernelTensors t = encode_kernels(graph, sum_totals(graph), kernels, roofline, Device{}, Workload{});
  ASSERT_EQ(t.graph.nodes, 3);
  EXPECT_FLOAT_EQ(t.device_ms[1], 0.021F);
  EXPECT_FLOAT_EQ(t.host_ms[1], 0.03F);
  const auto names = kernel_feature_names();
  const auto column = static_cast<std::size_t>(std::find(names.begin(), names.end(), "log_runs") - names.begin());
  EXPECT_FLOAT_EQ(t.graph.node_features[names.size() + column], std::log1p(3.0F));
  EXPECT_EQ(
      t.graph.sources.columns,
      (std::vector<std::int32_t>{1, 0, 1, 2, 1}));  // of the conv: the joined; of the joined: conv, itself, product
}

TEST(KernelEncoding, TakesGivenTimesInsteadOfTheRooflines) {
  const Graph graph = small_graph();
  std::vector<Kernel> kernels(3);  // the first and the last are equal
  for (std::size_t i = 0; i < 3; ++i) kernels[i].node = static_cast<NodeId>(i);
  kernels[1].m = 8;
  kernels[2].runs = 2;
  RooflineEstimate roofline;
  roofline.kernels = {KernelTime{.time_us = 5}, KernelTime{.time_us = 7}, KernelTime{.time_us = 10}};
  const KernelTensors t =
      encode_kernels(graph, sum_totals(graph), kernels, roofline, Device{}, Workload{}, std::vector<double>{10, 7, 10});
  EXPECT_FLOAT_EQ(t.device_ms[0], 0.030F);
  EXPECT_FLOAT_EQ(t.device_ms[1], 0.007F);
  const auto names = kernel_feature_names();
  const auto column =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), "log_timed_over_roofline") - names.begin());
  EXPECT_FLOAT_EQ(t.graph.node_features[column], std::log(2.0F));
  EXPECT_NEAR(t.graph.node_features[names.size() + column], 0, 1e-6);
}

TEST(SparseRows, CountRepeatedEdgesOnce) {
  const SparseRows rows = make_sparse_rows(3, both_ways({{0, 2}, {0, 2}, {1, 2}}));
  EXPECT_EQ(rows.offsets, (std::vector<std::int32_t>{0, 1, 2, 4}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{2, 2, 0, 1}));
}

}  // namespace
}  // namespace forerun
