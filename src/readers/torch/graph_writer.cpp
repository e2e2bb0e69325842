#include "readers/torch/graph_writer.hpp"

#include <algorithm>

#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"
#include "readers/torch/argument.hpp"

namespace forerun::pytorch {

DType dtype_of_number(std::int64_t number) {
  constexpr DType kTypes[] = {DType::UInt8,     DType::Int8,      DType::Int16,      DType::Int32,
                              DType::Int64,     DType::Float16,   DType::Float32,    DType::Float64,
                              DType::Undefined, DType::Complex64, DType::Complex128, DType::Bool,
                              DType::Int8,      DType::UInt8,     DType::Int32,      DType::BFloat16};
  if (number >= 0 && number < std::int64_t(std::size(kTypes))) return kTypes[number];
  switch (number) {
    case 23: return DType::Float8E5M2;
    case 24: return DType::Float8E4M3FN;
    case 25: return DType::Float8E5M2FNUZ;
    case 26: return DType::Float8E4M3FNUZ;
    case 27: return DType::UInt16;
    case 28: return DType::UInt32;
    case 29: return DType::UInt64;
    case 44: return DType::Float8E8M0;
    case 45: return DType::Float4E2M1;
    default: return DType::Undefined;
  }
}

ValueId GraphWriter::add_value(std::string name, DType type, std::optional<Dims> dims, ValueRole role) {
  Value value;
  value.name = std::move(name);
  value.dtype = type;
  value.role = role;
  value.has_shape = dims.has_value();
  if (dims) value.dims = std::move(*dims);
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId GraphWriter::add_constant(Literal contents, DType type, Dims dims) {
  const ValueId id =
      add_value(name_ + ".constant" + std::to_string(graph_.values.size()), type, std::move(dims), ValueRole::Constant);
  value(id).literal = std::move(contents);
  return id;
}

const Dims* GraphWriter::shape(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const Value& v = value(id);
  const bool complete = v.has_shape && v.form == ValueForm::Tensor &&
                        std::all_of(v.dims.begin(), v.dims.end(), [](std::int64_t d) { return d >= 0; });
  return complete ? &v.dims : nullptr;
}

void GraphWriter::use(const std::vector<ValueId>& inputs) {
  used_.resize(graph_.values.size(), false);
  for (const ValueId id : inputs) {
    if (id != kNoValue) used_[std::size_t(id)] = true;
  }
}

std::vector<ValueId> GraphWriter::add_node(OpKind kind, std::string_view op_type, std::vector<ValueId> inputs,
                                           std::vector<Attribute> attributes, std::size_t results) {
  ++nodes_;
  for (ValueId& input : inputs) input = as_written(input);
  use(inputs);
  Node node;
  node.kind = kind;
  node.op_type = op_type.empty() ? std::string(spec_of(kind).name) : std::string(op_type);
  node.domain = spec_of(kind).domain == "*" ? "" : std::string(spec_of(kind).domain);
  node.name = name_;
  set_module(graph_, node, module_);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < results; ++i) {
    const std::string suffix = results == 1 ? "" : "." + std::to_string(i);
    node.outputs.push_back(add_value(name_ + suffix, DType::Undefined, std::nullopt, ValueRole::Computed));
  }
  const OpSpec& spec = spec_of(kind);
  RuleContext context(graph_, node);
  // What does not fit is reported when the finished graph is analysed.
  const bool fits = spec.infer_shape == nullptr || spec.infer_shape(context).has_value();
  if (fits && spec.fold != nullptr) spec.fold(context);
  std::vector<ValueId> outputs = node.outputs;
  graph_.blocks[std::size_t(block_)].nodes.push_back(std::move(node));
  return outputs;
}

std::vector<ValueId> GraphWriter::add_unknown(std::string_view space, std::string_view op_type,
                                              std::vector<ValueId> inputs, std::size_t results) {
  std::vector<ValueId> outputs = add_node(OpKind::Unknown, op_type, std::move(inputs), {}, results);
  graph_.blocks[std::size_t(block_)].nodes.back().domain = space;
  return outputs;
}

// A matrix that is kept turned, wanted as it was written.
ValueId GraphWriter::as_written(ValueId id) {
  const auto found = turned_.find(id);
  if (found == turned_.end()) return id;
  if (found->second.back != kNoValue) return found->second.back;
  const ValueId turned = found->second.turned;
  const ValueId back = add_node(OpKind::Transpose, "", {turned}, {{"perm", std::vector<std::int64_t>{1, 0}}}, 1)[0];
  if (block_ == 0) turned_[id].back = back;  // bodies do not share their nodes
  return back;
}

void GraphWriter::drop_nodes_after(std::size_t count) {
  std::vector<Node>& nodes = graph_.blocks[std::size_t(block_)].nodes;
  for (auto& [weight, turned] : turned_) {
    for (std::size_t i = count; i < nodes.size(); ++i) {
      if (nodes[i].outputs.front() == turned.back) turned.back = kNoValue;
    }
  }
  nodes.resize(count);
}

ValueId GraphWriter::transposed(ValueId weight) {
  if (const auto found = turned_.find(weight); found != turned_.end()) return found->second.turned;
  used_.resize(graph_.values.size(), false);
  const Value& v = value(weight);
  const bool is_fresh_matrix =
      is_stored(v) && v.has_shape && v.dims.size() == 2 && !v.literal && !used_[std::size_t(weight)] && block_ == 0;
  if (!is_fresh_matrix)
    return add_node(OpKind::Transpose, "", {weight}, {{"perm", std::vector<std::int64_t>{1, 0}}}, 1)[0];
  const ValueId turned = add_value(v.name, v.dtype, Dims{v.dims[1], v.dims[0]}, v.role);
  turned_[weight] = {turned, kNoValue};
  return turned;
}

ValueId GraphWriter::packed(const std::vector<ValueId>& parts, Dims dims) {
  const Value& first = value(parts.front());
  const bool weights = std::all_of(parts.begin(), parts.end(), [&](ValueId id) { return is_weight(value(id)); });
  const std::string name = first.name;
  return add_value(name, first.dtype, std::move(dims), weights ? ValueRole::Weight : ValueRole::Constant);
}

}  // namespace forerun::pytorch
