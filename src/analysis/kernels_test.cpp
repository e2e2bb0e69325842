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
    graph.blocks.emplace_back();
    graph.main().inputs = {value({1, 8, 32, 32})};
  }
  ValueId value(Dims dims, bool is_weight = false) {
    Value made;
    made.name = "v" + std::to_string(graph.values.size());
    made.dtype = DType::Float32;
    made.has_shape = !dims.empty();
    made.dims = std::move(dims);
    made.is_constant = is_weight;
    if (is_weight) made.role = ValueRole::Weight;
    graph.values.push_back(std::move(made));
    return ValueId(graph.values.size()) - 1;
  }
  ValueId numbers(std::vector<std::int64_t> contents) {
    const ValueId id = value({std::int64_t(contents.size())}, true);
    Value& made = graph.values[std::size_t(id)];
    made.dtype = DType::Int64;
    made.role = ValueRole::Constant;
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
    return apply(OpKind::Conv, "Conv", {x, value({8, 8, 3, 3}, true)},
                 {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"kernel_shape", std::vector<std::int64_t>{3, 3}}});
  }
  std::vector<std::string> kernels(ValueId result, bool training = false, Precision precision = Precision::Fp32) {
    graph.main().outputs = {result};
    EXPECT_TRUE(infer_shapes(graph));
    EXPECT_TRUE(count_costs(graph));
    mark_needed(graph);
    Workload workload;
    workload.training = training;
    workload.optimizer = Optimizer::None;
    workload.precision = precision;
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
  const ValueId pooled =
      drawn.apply(OpKind::AveragePool, "AveragePool", {padded}, {{"kernel_shape", std::vector<std::int64_t>{3, 3}}});
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

TEST(Kernels, GradientsOfAValueThatSeveralReadAreAddedUp) {
  Drawn drawn;
  const ValueId x = drawn.conv(0);
  const ValueId left = drawn.conv(x), right = drawn.apply(OpKind::Relu, "Relu", {x});
  const std::vector<std::string> labels = drawn.kernels(drawn.apply(OpKind::Add, "Add", {left, right}), true);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "accumulate"), 1);  // of x; the sum itself passes its gradient on
  const auto sum = std::find(labels.begin(), labels.end(), "accumulate");
  EXPECT_EQ(sum[1], "conv_weight_gradient");  // of the convolution that made x
  EXPECT_DOUBLE_EQ(drawn.list[std::size_t(sum - labels.begin())].read_bytes, 2 * 4.0 * 8 * 32 * 32);
}

TEST(Kernels, AGradientIsSummedOverWhatItsOperandWasBroadcastTo) {
  Drawn drawn;
  const ValueId scaled = drawn.apply(OpKind::Mul, "Mul", {drawn.conv(0), drawn.value({8, 1, 1}, true)});
  const std::vector<std::string> labels = drawn.kernels(scaled, true);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "gradient"), 2);
  const auto sum = std::find(labels.begin(), labels.end(), "bias_gradient");
  ASSERT_NE(sum, labels.end());
  EXPECT_DOUBLE_EQ(drawn.list[std::size_t(sum - labels.begin())].output_elements, 8);
}

TEST(Kernels, ALinearLayersBiasHasAGradient) {
  Drawn drawn;
  const ValueId flat = drawn.apply(OpKind::Reshape, "Reshape", {drawn.conv(0), drawn.numbers({8, 1024})});
  const ValueId y = drawn.apply(OpKind::Gemm, "Gemm", {flat, drawn.value({10, 1024}, true), drawn.value({10}, true)},
                                {{"transB", std::int64_t{1}}});
  const std::vector<std::string> labels = drawn.kernels(y, true);
  const auto sum = std::find(labels.begin(), labels.end(), "bias_gradient");
  ASSERT_NE(sum, labels.end());
  EXPECT_DOUBLE_EQ(drawn.list[std::size_t(sum - labels.begin())].inner, 8);
}

TEST(Kernels, MixedPrecisionCastsWeightsAndTheirGradients) {
  Drawn drawn;
  const std::vector<std::string> labels = drawn.kernels(drawn.conv(0), true, Precision::AmpBf16);
  EXPECT_EQ(labels, (std::vector<std::string>{"autocast", "Conv", "conv_weight_gradient", "autocast"}));
  EXPECT_DOUBLE_EQ(drawn.list.front().read_bytes, 4.0 * 8 * 8 * 9);
  EXPECT_DOUBLE_EQ(drawn.list.back().read_bytes, 2.0 * 8 * 8 * 9);
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
  const ValueId scores = declared(OpKind::MatMul, "MatMul", {loose, product}),
                weights = declared(OpKind::Softmax, "Softmax", {scores});
  (void)drawn.kernels(declared(OpKind::MatMul, "MatMul", {weights, declared(OpKind::Transpose, "Transpose", {})}));
  EXPECT_EQ(drawn.graph.main().nodes.front().kind, OpKind::Unknown);
  EXPECT_EQ(drawn.graph.warnings.size(), 3u);
}

}  // namespace
}  // namespace forerun
