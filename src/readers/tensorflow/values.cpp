// Values of the graph: constants in the order an operator wants them, nodes with their results, changes of order.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"
#include "readers/tensorflow/translator.hpp"

namespace forerun::tensorflow {

std::vector<std::int64_t> to_first(std::size_t rank) {
  std::vector<std::int64_t> order = {0, std::int64_t(rank) - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) order.push_back(std::int64_t(i));
  return order;
}

std::vector<std::int64_t> to_last(std::size_t rank) {
  std::vector<std::int64_t> order = {0};
  for (std::size_t i = 2; i < rank; ++i) order.push_back(std::int64_t(i));
  order.push_back(1);
  return order;
}

Dims permute(const Dims& dims, const std::vector<std::int64_t>& order) {
  Dims result;
  for (const std::int64_t axis : order) result.push_back(dims[std::size_t(axis)]);
  return result;
}

ValueId Translator::new_value(DType type) {
  if (const Status status = budget_.charge(sizeof(Value)); !status && status_) status_ = status;
  Value value;
  value.dtype = type;
  graph_.values.push_back(std::move(value));
  producers_.emplace_back();
  is_declared_.push_back(false);
  is_fixed_.push_back(false);
  return ValueId(graph_.values.size() - 1);
}

ValueId Translator::constant(const Tensor& tensor, const Dims& dims) {
  const auto [known, is_new] = constants_.try_emplace({&tensor, dims}, kNoValue);
  if (!is_new) return known->second;
  const ValueId id = new_value(tensor.dtype);
  known->second = id;
  Value& made = value(id);
  made.name = tensor.name;
  made.has_shape = true;
  made.dims = dims;
  made.stored_bytes = tensor.stored_bytes;
  const bool counts = !tensor.is_state && (is_floating(tensor.dtype) || is_quantized(tensor.dtype) || tensor.has_scale);
  made.role = counts ? ValueRole::Weight : ValueRole::Constant;
  // The order of the contents is that of the tensor's own dimensions.
  const bool keeps_order = dims == tensor.dims || tensor.dims.size() <= 1;
  if (keeps_order && tensor.literal &&
      std::int64_t(std::max(tensor.literal->ints.size(), tensor.literal->reals.size())) == checked_product(dims))
    made.literal = tensor.literal;
  is_fixed_[std::size_t(id)] = true;
  return id;
}

ValueId Translator::integers(std::vector<std::int64_t> values, bool is_scalar) {
  const auto [known, is_new] = integers_[is_scalar ? 1 : 0].try_emplace(values, kNoValue);
  if (!is_new) return known->second;
  const ValueId id = new_value(DType::Int64);
  known->second = id;
  Value& made = value(id);
  made.role = ValueRole::Constant;
  made.has_shape = true;
  if (!is_scalar) made.dims = {std::int64_t(values.size())};
  made.name = "integers_" + std::to_string(id);
  made.literal = Literal{.ints = std::move(values), .reals = {}};
  is_fixed_[std::size_t(id)] = true;
  return id;
}

ValueId Translator::made_constant(Tensor tensor) {
  made_.push_back(std::move(tensor));
  return constant(made_.back(), made_.back().dims);
}

ValueId Translator::quantisation_parameter(DType type) {
  const auto [known, is_new] = quantisation_.try_emplace(type, kNoValue);
  if (!is_new) return known->second;
  const ValueId id = new_value(type);
  known->second = id;
  Value& made = value(id);
  made.role = ValueRole::Constant;
  made.has_shape = true;
  made.name = "quantisation_" + std::to_string(id);
  is_fixed_[std::size_t(id)] = true;
  return id;
}

Node* Translator::producer_of(ValueId id, const Scope& scope) {
  if (id == kNoValue) return nullptr;
  const Producer made = producers_[std::size_t(id)];
  if (made.block != scope.block || made.node < 0) return nullptr;
  return &graph_.blocks[std::size_t(made.block)].nodes[std::size_t(made.node)];
}

ValueId Translator::emit(Scope& scope, Node node, std::size_t results) {
  if (const Status status = budget_.add_node(); !status && status_) status_ = status;
  const OpSpec& spec = spec_of(node.kind);
  if (node.kind != OpKind::Unknown) {
    node.op_type = spec.name;
    node.domain = spec.domain == "*" ? std::string_view{} : spec.domain;
  }
  if (const std::size_t end = node.name.rfind('/'); end != std::string::npos)
    set_module(graph_, node, std::string_view(node.name).substr(0, end));
  bool is_fixed = true;
  for (const ValueId input : node.inputs) is_fixed = is_fixed && (input == kNoValue || is_fixed_[std::size_t(input)]);
  const DType type = node.inputs.empty() || node.inputs[0] == kNoValue ? DType::Undefined : value(node.inputs[0]).dtype;
  const auto place = std::int32_t(graph_.blocks[std::size_t(scope.block)].nodes.size());
  for (std::size_t i = 0; i < results; ++i) {
    const ValueId id = new_value(spec.infer_shape == nullptr ? DType::Undefined : type);
    producers_[std::size_t(id)] = {scope.block, place};
    is_fixed_[std::size_t(id)] = is_fixed;
    node.outputs.push_back(id);
  }
  RuleContext context(graph_, node);
  // Rules take for granted that operands are there; the analysis makes such a node an unknown one.
  const std::size_t needed = node.kind == OpKind::Resize ? 1 : std::min<std::size_t>(2, node.inputs.size());
  const bool is_whole = std::none_of(node.inputs.begin(), node.inputs.begin() + std::ptrdiff_t(needed),
                                     [](ValueId id) { return id == kNoValue; });
  if (spec.infer_shape != nullptr && is_whole && status_) {
    const Status inferred = spec.infer_shape(context);
    if (inferred && spec.fold != nullptr) spec.fold(context);
  }
  const ValueId result = node.outputs.empty() ? kNoValue : node.outputs.front();
  graph_.blocks[std::size_t(scope.block)].nodes.push_back(std::move(node));
  return result;
}

std::optional<Dims> Translator::shape(const Slot& slot) const {
  if (slot.constant != nullptr) return slot.constant->dims;
  const ValueId id = slot.plain != kNoValue ? slot.plain : slot.first;
  if (id == kNoValue || !value(id).has_shape) return std::nullopt;
  const Dims& dims = value(id).dims;
  if (slot.plain != kNoValue || dims.size() < 3) return dims;
  return permute(dims, to_last(dims.size()));
}

namespace {

bool is_flat(const Dims& last) {
  return last.size() >= 3 &&
         (last.back() == 1 || std::all_of(last.begin() + 1, last.end() - 1, [](std::int64_t d) { return d == 1; }));
}

}  // namespace

ValueId Translator::plain(Scope& scope, Slot& slot, const std::string& name) {
  if (slot.plain != kNoValue) return slot.plain;
  if (slot.constant != nullptr) return slot.plain = constant(*slot.constant, slot.constant->dims);
  if (slot.first == kNoValue) return kNoValue;
  Node node;
  node.name = name;
  const auto dims = shape(slot);
  const std::size_t rank = dims ? dims->size() : 4;
  if (dims && is_flat(*dims) && rank == 4) {  // one row or one channel: no element moves
    node.kind = OpKind::Reshape;
    Dims target = dims->back() == 1 ? Dims{0, (*dims)[1], (*dims)[2], 1} : Dims{0, 1, 1, dims->back()};
    if (dims->back() == 1 && !is_fixed_[std::size_t(slot.first)] && has_free_space_) target[1] = -1;
    node.inputs = {slot.first, integers(std::move(target), false)};
  } else {
    node.kind = OpKind::Transpose;
    node.attributes = {{"perm", to_last(rank)}};
    node.inputs = {slot.first};
  }
  return slot.plain = emit(scope, std::move(node), 1);
}

ValueId Translator::first(Scope& scope, Slot& slot, const std::string& name, std::size_t rank) {
  if (slot.first != kNoValue) return slot.first;
  const auto dims = shape(slot);
  if (dims) rank = dims->size();
  if (rank < 3) return plain(scope, slot, name);
  if (slot.constant != nullptr)
    return slot.first = constant(*slot.constant, permute(slot.constant->dims, to_first(rank)));
  if (slot.plain == kNoValue) return kNoValue;
  Node node;
  node.name = name;
  if (dims && is_flat(*dims) && rank == 4) {
    node.kind = OpKind::Reshape;
    Dims target = dims->back() == 1 ? Dims{0, 1, (*dims)[1], (*dims)[2]} : Dims{0, dims->back(), 1, 1};
    if (dims->back() == 1 && !is_fixed_[std::size_t(slot.plain)] && has_free_space_) target[2] = -1;
    node.inputs = {slot.plain, integers(std::move(target), false)};
  } else {
    node.kind = OpKind::Transpose;
    node.attributes = {{"perm", to_first(rank)}};
    node.inputs = {slot.plain};
  }
  return slot.first = emit(scope, std::move(node), 1);
}

}  // namespace forerun::tensorflow
