// Which tensors live at the same time, on a graph small enough to count by hand.
#include "predictors/roofline/live_set.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "analysis/analyze.hpp"

namespace forerun {
namespace {

constexpr double kMiB = 1 << 20;

class Drawn {
 public:
  Drawn() {
    graph_.blocks.emplace_back();
    graph_.main().inputs = {add(1)};
  }
  // A value of so many MiB.
  ValueId add(std::int64_t mib) {
    Value value;
    value.name = "v" + std::to_string(graph_.values.size());
    value.dtype = DType::Float32;
    value.has_shape = true;
    value.dims = {1, 4 * mib, 256, 256};
    graph_.values.push_back(std::move(value));
    return ValueId(graph_.values.size() - 1);
  }
  ValueId apply(OpKind kind, std::string name, std::vector<ValueId> inputs, std::int64_t mib) {
    Node node;
    node.kind = kind;
    set_module(graph_, node, name.substr(0, name.rfind('/')));
    if (std::count(name.begin(), name.end(), '/') > 2) graph_.origin.has_call_paths = true;
    node.name = std::move(name);
    node.inputs = std::move(inputs);
    node.outputs = {add(mib)};
    graph_.main().outputs = node.outputs;
    graph_.main().nodes.push_back(std::move(node));
    return graph_.main().outputs.front();
  }
  [[nodiscard]] double peak_mib(bool training = false) {
    mark_needed(graph_);
    Workload workload;
    workload.precision = Precision::Fp32;
    workload.training = training;
    return LiveSet(graph_, workload).peak() / kMiB;
  }

 private:
  Graph graph_;
};

// An encoder whose result is kept aside, something between, and a decoder of two steps over both.
Drawn skipping(const std::string& encoder, const std::string& first, const std::string& second) {
  Drawn drawn;
  const ValueId skip = drawn.apply(OpKind::Sigmoid, encoder + "/Sigmoid", {0}, 1);
  const ValueId deep = drawn.apply(OpKind::Tanh, "/Tanh", {skip}, 1);
  const ValueId joined = drawn.apply(OpKind::Concat, "/Concat", {deep, skip}, 2);
  const ValueId decoded = drawn.apply(OpKind::Sigmoid, first + "/Sigmoid", {joined}, 2);
  drawn.apply(OpKind::Sigmoid, second + "/Sigmoid", {decoded}, 2);
  return drawn;
}

TEST(LiveSet, TracedCodeDropsWhatItHasUsed) {
  // input, joined and decoded; then input, decoded and the result
  EXPECT_DOUBLE_EQ(skipping("/m1", "/m2", "/m3").peak_mib(), 5);
}

TEST(LiveSet, AModuleHoldsItsSkipsUntilItReturns) {
  EXPECT_DOUBLE_EQ(skipping("/encoder/encoder.0", "/decoder", "/head").peak_mib(), 6);
}

TEST(LiveSet, ABranchThatLeadsNowhereIsDroppedAndHasNoGradient) {
  const auto with_branches = [](int branches) {
    Drawn drawn;
    const ValueId x = drawn.apply(OpKind::Sigmoid, "/a/Sigmoid", {0}, 1);
    for (int i = 0; i < branches; ++i)
      drawn.apply(OpKind::Tanh, "/b/Tanh", {drawn.apply(OpKind::Sigmoid, "/b/Sigmoid", {x}, 1)}, 1);
    drawn.apply(OpKind::Sigmoid, "/c/Sigmoid", {x}, 1);
    return drawn;
  };
  EXPECT_DOUBLE_EQ(with_branches(1).peak_mib(), 4);  // input, x and the branch's two results
  EXPECT_DOUBLE_EQ(with_branches(5).peak_mib(), 4);
  EXPECT_DOUBLE_EQ(with_branches(5).peak_mib(true), with_branches(0).peak_mib(true));
}

}  // namespace
}  // namespace forerun
