#include "dataset/one_operator.hpp"

#include "analysis/analyze.hpp"
#include "ops/op_table.hpp"

namespace forerun {

OneOperator::OneOperator() {
  graph_.format = "onnx";
  graph_.opset = 23;
  graph_.blocks.emplace_back();
  // The first product of a network needs no gradient of its input; this one of a single element takes that place.
  apply("MatMul", {input({1, 1}), weight({1, 1})});
}

ValueId OneOperator::add_value(Dims dims, DType dtype) {
  Value value;
  value.name = "v" + std::to_string(graph_.values.size());
  value.dtype = dtype;
  value.has_shape = true;
  value.dims = std::move(dims);
  graph_.values.push_back(std::move(value));
  return ValueId(graph_.values.size() - 1);
}

ValueId OneOperator::input(Dims dims, DType dtype) {
  const ValueId id = add_value(std::move(dims), dtype);
  graph_.main().inputs.push_back(id);
  return id;
}

ValueId OneOperator::weight(Dims dims) {
  const ValueId id = add_value(std::move(dims), DType::Float32);
  graph_.values[std::size_t(id)].is_initializer = graph_.values[std::size_t(id)].is_parameter = true;
  return id;
}

ValueId OneOperator::literal(std::vector<std::int64_t> ints) {
  const ValueId id = add_value({std::int64_t(ints.size())}, DType::Int64);
  graph_.values[std::size_t(id)].is_initializer = true;
  graph_.values[std::size_t(id)].literal = Literal{std::move(ints), {}};
  return id;
}

ValueId OneOperator::apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes, std::string_view domain) {
  Node node;
  node.kind = find_op(domain, op);
  node.domain = std::string(domain);
  node.op_type = std::string(op);
  node.name = "n" + std::to_string(graph_.main().nodes.size());
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  Value out;
  out.name = "v" + std::to_string(graph_.values.size());
  graph_.values.push_back(std::move(out));
  const ValueId id = ValueId(graph_.values.size() - 1);
  node.outputs = {id};
  graph_.main().nodes.push_back(std::move(node));
  graph_.main().outputs = {id};
  return id;
}

Result<std::vector<Kernel>> OneOperator::kernels(const Workload& workload, bool backward) {
  FORERUN_CHECK(verify(graph_));
  FORERUN_CHECK(infer_shapes(graph_));
  FORERUN_CHECK(count_costs(graph_));
  Workload run = workload;
  run.training = run.binding.training = backward;
  run.optimizer = Optimizer::None;
  std::vector<Kernel> found;
  for (Kernel& kernel : list_kernels(graph_, run)) {
    if (kernel.node == 0 || (kernel.stage == Stage::Backward) != backward) continue;
    // Labels may lie in this graph, which does not outlive the kernels: the operator table's are for ever.
    const Node& node = graph_.main().nodes[std::size_t(kernel.node)];
    if (kernel.label == node.op_type.c_str()) kernel.label = spec_of(node.kind).name.data();
    found.push_back(kernel);
  }
  if (found.empty()) return internal_error("an operator without a kernel: " + graph_.main().nodes.back().op_type);
  return found;
}

}  // namespace forerun
