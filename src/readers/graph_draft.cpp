#include "readers/graph_draft.hpp"

#include "ops/op_table.hpp"

namespace forerun {

GraphDraft::GraphDraft(std::int64_t opset) {
  graph_.format = "drawn";
  graph_.opset = opset;
  graph_.blocks.emplace_back();
}

ValueId GraphDraft::add_value(Dims dims, DType dtype) {
  Value value;
  value.name = "v" + std::to_string(graph_.values.size());
  value.dtype = dtype;
  value.has_shape = true;
  value.dims = std::move(dims);
  graph_.values.push_back(std::move(value));
  return ValueId(graph_.values.size() - 1);
}

ValueId GraphDraft::input(Dims dims, DType dtype) {
  const ValueId id = add_value(std::move(dims), dtype);
  graph_.values[std::size_t(id)].role = ValueRole::Input;
  graph_.main().inputs.push_back(id);
  return id;
}

ValueId GraphDraft::weight(Dims dims) {
  const ValueId id = add_value(std::move(dims), DType::Float32);
  graph_.values[std::size_t(id)].role = ValueRole::Weight;
  return id;
}

ValueId GraphDraft::apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                          std::string_view domain) {
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

}  // namespace forerun
