#include "store/workload_hash.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

Value tensor(const char* name, Dims dims) {
  Value value;
  value.name = name;
  value.dtype = DType::Float32;
  value.has_shape = true;
  value.dims = std::move(dims);
  return value;
}

Graph two_layers() {
  Graph graph;
  graph.values = {tensor("x", {8, 16}), tensor("h", {8, 16}), tensor("y", {8, 16})};
  Node relu;
  relu.op_type = "Relu";
  relu.inputs = {0};
  relu.outputs = {1};
  Node softmax;
  softmax.op_type = "Softmax";
  softmax.inputs = {1};
  softmax.outputs = {2};
  softmax.attributes = {{"axis", std::int64_t{1}}, {"b", 0.5}};
  graph.blocks = {{.name = "main", .nodes = {relu, softmax}, .inputs = {0}, .outputs = {2}}};
  return graph;
}

TEST(WorkloadHash, IgnoresNamesAndLayout) {
  const std::string hash = workload_hash(two_layers(), {});
  EXPECT_EQ(hash.size(), 32U);
  Graph renamed = two_layers();
  renamed.name = "other";
  renamed.format = "gguf";
  for (Value& value : renamed.values) value.name += "_2";
  std::swap(renamed.main().nodes[1].attributes[0], renamed.main().nodes[1].attributes[1]);
  EXPECT_EQ(workload_hash(renamed, {}), hash);

  Graph moved = two_layers();  // the same graph with its value table in another order
  std::swap(moved.values[0], moved.values[2]);
  moved.main().nodes[0].inputs = {2};
  moved.main().nodes[1].outputs = {0};
  moved.main().inputs = {2};
  moved.main().outputs = {0};
  EXPECT_EQ(workload_hash(moved, {}), hash);
}

TEST(WorkloadHash, ChangesWithShapesAttributesAndSettings) {
  const std::string hash = workload_hash(two_layers(), {});
  Graph wider = two_layers();
  wider.values[1].dims[1] = 32;
  EXPECT_NE(workload_hash(wider, {}), hash);
  Graph other_axis = two_layers();
  other_axis.main().nodes[1].attributes[0].value = std::int64_t{0};
  EXPECT_NE(workload_hash(other_axis, {}), hash);
  Workload half;
  half.precision = Precision::Fp16;
  EXPECT_NE(workload_hash(two_layers(), half), hash);
  Workload adam;
  adam.training = true;
  adam.optimizer = Optimizer::Adam;
  Workload sgd = adam;
  sgd.optimizer = Optimizer::Sgd;
  EXPECT_NE(workload_hash(two_layers(), adam), workload_hash(two_layers(), sgd));
  Workload replayed;
  replayed.runtime = Runtime::Graph;
  EXPECT_EQ(workload_hash(two_layers(), replayed), hash) << "one row holds both latencies";
}

}  // namespace
}  // namespace forerun
