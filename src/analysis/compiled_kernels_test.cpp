// What Inductor makes of small graphs, drawn by hand.
#include "analysis/compiled_kernels.hpp"

#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "analysis/fused_groups.hpp"

namespace forerun {
namespace {

using Labels = std::vector<std::string>;

class Drawn {
 public:
  Drawn() {
    graph.blocks.emplace_back();
    graph.main().inputs = {value({1, 128, 32, 32})};
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
    return apply(OpKind::Conv, "Conv", {x, value({128, 128, 3, 3}, true), value({128}, true)},
                 {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"kernel_shape", std::vector<std::int64_t>{3, 3}}});
  }
  ValueId relu(ValueId x) { return apply(OpKind::Relu, "Relu", {x}); }
  ValueId add(ValueId a, ValueId b) { return apply(OpKind::Add, "Add", {a, b}); }
  Labels compiled(ValueId result) {
    graph.main().outputs = {result};
    EXPECT_TRUE(infer_shapes(graph));
    EXPECT_TRUE(count_costs(graph));
    mark_needed(graph);
    list = compiled_kernels(graph, list_kernels(graph, {}));
    Labels labels;
    for (const Kernel& kernel : list) labels.emplace_back(kernel.label);
    return labels;
  }
  Graph graph;
  std::vector<Kernel> list;
};

constexpr double kImage = 4.0 * 128 * 32 * 32;

TEST(CompiledKernels, ABiasAndAnActivationAreOneKernelAfterTheConvolution) {
  Drawn drawn;
  EXPECT_EQ(drawn.compiled(drawn.relu(drawn.conv(0))), (Labels{kWeightLayout, kChannelsLastConv, kFusedPointwise}));
  EXPECT_DOUBLE_EQ(drawn.list.back().read_bytes, kImage);
  EXPECT_DOUBLE_EQ(drawn.list.back().write_bytes, kImage);
}

TEST(CompiledKernels, AResidualIsAddedInTheKernelOfTheLastConvolution) {
  Drawn drawn;
  const ValueId x = drawn.relu(drawn.conv(0));
  const ValueId y = drawn.conv(x);
  const Labels labels = drawn.compiled(drawn.relu(drawn.add(y, x)));
  EXPECT_EQ(std::count(labels.begin(), labels.end(), kFusedPointwise), 2);
  EXPECT_DOUBLE_EQ(drawn.list.back().read_bytes, 2 * kImage);  // the convolution's result and the residual
  EXPECT_DOUBLE_EQ(drawn.list.back().write_bytes, kImage);
}

TEST(CompiledKernels, AMeanJoinsTheChainBeforeIt) {
  Drawn drawn;
  const ValueId pooled = drawn.apply(OpKind::GlobalAveragePool, "GlobalAveragePool", {drawn.relu(drawn.conv(0))});
  EXPECT_EQ(drawn.compiled(pooled), (Labels{kWeightLayout, kChannelsLastConv, kFusedReduction}));
  EXPECT_DOUBLE_EQ(drawn.list.back().write_bytes, 4.0 * 128);  // the chain's own result is never written
}

TEST(CompiledKernels, APoolReadsItsOperandFromMemory) {
  Drawn drawn;
  const ValueId pooled =
      drawn.apply(OpKind::MaxPool, "MaxPool", {drawn.relu(drawn.conv(0))},
                  {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}});
  EXPECT_EQ(drawn.compiled(drawn.relu(pooled)),
            (Labels{kWeightLayout, kChannelsLastConv, kFusedPointwise, kFusedPool}));
}

// A gate: a mean over the image, a small chain of it, a product with the image.
TEST(CompiledKernels, ASmallChainIsComputedAgainInsideItsOnlyUser) {
  Drawn drawn;
  const ValueId image = drawn.relu(drawn.conv(0));
  const ValueId mean = drawn.apply(OpKind::GlobalAveragePool, "GlobalAveragePool", {image});
  const ValueId gate = drawn.apply(OpKind::Sigmoid, "Sigmoid", {drawn.conv(mean)});
  const Labels labels = drawn.compiled(drawn.apply(OpKind::Mul, "Mul", {image, gate}));
  EXPECT_EQ(labels, (Labels{kWeightLayout, kChannelsLastConv, kFusedReduction, kWeightLayout, kChannelsLastConv,
                            kFusedPointwise}));
  EXPECT_DOUBLE_EQ(drawn.list[2].write_bytes, kImage + 4.0 * 128);  // the image is read again
  EXPECT_DOUBLE_EQ(drawn.list.back().read_bytes, kImage + 4.0 * 128);
}

TEST(FusedGroups, AStepThatNeedsItsOperandByWayOfALibraryCallStartsAGroup) {
  // 0: chain, 1: library on it, 2: sum of both
  FusionInput input;
  input.buffers = {{100, 400}, {100, 400}, {100, 400, true}};
  input.steps = {{0, FusedRole::Pointwise, {}, 400, 0},
                 {1, FusedRole::Library, {{0, 100}}, 0, 1},
                 {2, FusedRole::Pointwise, {{0, 100}, {1, 100}}, 0, 2}};
  const std::vector<FusedGroup> groups = fuse(input);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[2].kernels, std::vector<std::int32_t>{2});
  EXPECT_DOUBLE_EQ(groups[2].read_bytes, 800);
}

}  // namespace
}  // namespace forerun
