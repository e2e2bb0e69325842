// What PyTorch launches for small graphs, drawn by hand.
#include "analysis/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/analyze.hpp"

namespace forerun {
namespace {

class Drawn {
 public:
  Drawn() {
    graph.format = "onnx";
    graph.blocks.emplace_back();
    graph.main().inputs = {value({1, 8, 32, 32})};
  }
  ValueId value(Dims dims, bool is_weight = false) {
    Value made;
    made.name = "v" + std::to_string(graph.values.size());
    made.dtype = DType::Float32;
    made.has_shape = !dims.empty();
    made.dims = std::move(dims);
    made.is_initializer = made.is_constant = made.is_parameter = is_weight;
    graph.values.push_back(std::move(made));
    return ValueId(graph.values.size()) - 1;
  }
  ValueId numbers(std::vector<std::int64_t> contents) {
    const ValueId id = value({std::int64_t(contents.size())}, true);
    Value& made = graph.values[std::size_t(id)];
    made.dtype = DType::Int64;
    made.is_parameter = false;
    made.literal = Literal{std::move(contents), {}};
    return id;
  }
  ValueId apply(OpKind kind, const char* type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    Node node;
    node.kind = kind;
    node.op_type = type;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.outputs = {value({})};
    graph.main().nodes.push_back(node);
    return node.outputs.front();
  }
  ValueId conv(ValueId x) {
    return apply(OpKind::Conv, "Conv", {x, value({8, 8, 3, 3}, true)}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"kernel_shape", std::vector<std::int64_t>{3, 3}}});
  }
  std::vector<std::string> kernels(ValueId result, bool training = false) {
    graph.main().outputs = {result};
    EXPECT_TRUE(infer_shapes(graph));
    EXPECT_TRUE(count_costs(graph));
    mark_needed(graph);
    Workload workload;
    workload.training = training;
    list = list_kernels(graph, workload);
    std::vector<std::string> labels;
    for (const Kernel& kernel : list) labels.emplace_back(kernel.label);
    return labels;
  }
  Graph graph;
  std::vector<Kernel> list;
};

TEST(Kernels, APoolPadsByItself) {
  Drawn drawn;
  const ValueId padded = drawn.apply(OpKind::Pad, "Pad", {drawn.conv(0), drawn.numbers({0, 0, 1, 1, 0, 0, 1, 1})});
  const ValueId pooled = drawn.apply(OpKind::AveragePool, "AveragePool", {padded}, {{"kernel_shape", std::vector<std::int64_t>{3, 3}}});
  EXPECT_EQ(drawn.kernels(pooled), (std::vector<std::string>{"Conv", "AveragePool"}));
  EXPECT_DOUBLE_EQ(drawn.list.back().read_bytes, 4.0 * 8 * 32 * 32);
}

TEST(Kernels, ABranchThatLeadsNowhereRunsButHasNoGradient) {
  Drawn drawn;
  const ValueId x = drawn.conv(0);
  drawn.conv(drawn.apply(OpKind::Relu, "Relu", {x}));
  const ValueId result = drawn.conv(x);
  const std::vector<std::string> labels = drawn.kernels(result, true);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "Conv"), 3);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "conv_weight_gradient"), 2);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "gradient"), 0);  // of the activation
}

// Found by fuzzing: attention whose operands come from nodes without any, their shapes declared by the file.
TEST(Kernels, ANodeWithoutItsOperandsIsOfNoKnownKind) {
  Drawn drawn;
  const auto declared = [&](OpKind kind, const char* type, std::vector<ValueId> inputs) {
    const ValueId id = drawn.apply(kind, type, std::move(inputs));
    Value& value = drawn.graph.values[std::size_t(id)];
    value.dtype = DType::Float32;
    value.has_shape = true;
    value.dims = {1, 8, 32, 32};
    return id;
  };
  const ValueId loose = declared(OpKind::Reshape, "Reshape", {}), product = declared(OpKind::MatMul, "MatMul", {loose});
  const ValueId scores = declared(OpKind::MatMul, "MatMul", {loose, product}), weights = declared(OpKind::Softmax, "Softmax", {scores});
  (void)drawn.kernels(declared(OpKind::MatMul, "MatMul", {weights, declared(OpKind::Transpose, "Transpose", {})}));
  EXPECT_EQ(drawn.graph.main().nodes.front().kind, OpKind::Unknown);
  EXPECT_EQ(drawn.graph.warnings.size(), 3u);
}

}  // namespace
}  // namespace forerun
