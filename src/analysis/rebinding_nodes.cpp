// Adjusts a node's operands to the new batch and finds the batch in its results.
#include "analysis/rebinding.hpp"
#include "base/checked.hpp"
#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"

namespace forerun {
namespace {

bool is_view(OpKind kind) {
  return kind == OpKind::Reshape || kind == OpKind::Flatten || kind == OpKind::Squeeze || kind == OpKind::Unsqueeze ||
         kind == OpKind::Identity;
}

// What a Reshape's target gives for an operand of these dimensions; nullopt where it does not fit.
std::optional<Dims> apply_target(const Dims& x, const std::vector<std::int64_t>& target, bool keeps_zero) {
  Dims result = target;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && !keeps_zero) {
      if (i >= x.size()) return std::nullopt;
      result[i] = x[i];
    }
    if (result[i] == -1) {
      open = std::ptrdiff_t(i);
    } else {
      known = checked_mul(known, result[i]);
    }
  }
  const std::int64_t total = checked_product(x);
  if (open >= 0) {
    if (known <= 0 || total % known != 0) return std::nullopt;
    result[std::size_t(open)] = total / known;
  } else if (known != total) {
    return std::nullopt;
  }
  return result;
}

}  // namespace

void Rebinding::adjust(Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNoValue || result_of(node) == kNoValue) return;
  switch (node.kind) {
    case OpKind::Reshape: adjust_reshape(node); break;
    case OpKind::Expand: adjust_sizes(node, 1); break;
    case OpKind::Resize: adjust_sizes(node, 3); break;
    case OpKind::Concat:
    case OpKind::MatMul: widen_operands(node); break;
    default:
      if (spec_of(node.kind).op_class == OpClass::Elementwise && node.inputs.size() > 1) widen_operands(node);
  }
}

void Rebinding::adjust_reshape(Node& node) {
  const ValueId x = node.inputs[0];
  const std::int64_t outer = outer_of(x);
  const Value& y = *old_value(result_of(node));
  if (outer == kNone || node.inputs.size() < 2 || node.inputs[1] == kNoValue) return;
  if (!has_known_dims(y) || !has_known_dims(new_value(x)) || follows(node.inputs[1])) return;
  const std::optional<std::size_t> place = outer == kUnclear ? std::nullopt : place_of(y.dims, outer);
  if (!place) {
    return refuse(node, "makes " + text_of(y.dims) + ", in which the batch has no dimension");
  }
  Dims target = y.dims;
  target[*place] = checked_mul(target[*place] / from_, to_);
  const auto& literal = new_value(node.inputs[1]).literal;
  if (literal && apply_target(new_value(x).dims, literal->ints, int_attribute(node, "allowzero", 0) != 0) == target) {
    return;
  }
  node.inputs[1] = add_constant(std::move(target));
}

// The dimension of a Reshape's result that holds the batch: preferably the batch alone, else one that begins with it,
// else one that contains it.
std::optional<std::size_t> Rebinding::place_of(const Dims& dims, std::int64_t outer) const {
  std::optional<std::size_t> begins, contains;
  std::int64_t around = 1;
  for (std::size_t i = 0; i < dims.size() && around > 0; around = checked_mul(around, dims[i]), ++i) {
    if (outer % around != 0 || dims[i] <= 0) continue;
    const std::int64_t within = outer / around;
    if (dims[i] % checked_mul(within, from_) != 0) continue;
    if (within == 1 && dims[i] == from_) return i;
    std::optional<std::size_t>& place = within == 1 ? begins : contains;
    if (!place) place = i;
  }
  // The last dimension is of features: a batch before it belongs to the rows.
  const bool prefers_rows = begins && contains && *begins + 1 == dims.size();
  return begins && !prefers_rows ? begins : contains;
}

// Expand and Resize state all sizes of their result.
void Rebinding::adjust_sizes(Node& node, std::size_t slot) {
  const ValueId x = node.inputs[0];
  const auto changed = changed_dim(x);
  const Value& y = *old_value(result_of(node));
  if (outer_of(x) == kNone || node.inputs.size() <= slot || node.inputs[slot] == kNoValue) return;
  if (!changed || *changed < 0 || !has_known_dims(y) || follows(node.inputs[slot])) return;
  const Dims& before = old_value(x)->dims;
  const std::size_t at = std::size_t(*changed) + y.dims.size() - before.size();
  const auto& literal = new_value(node.inputs[slot]).literal;
  if (y.dims.size() < before.size() || (literal && literal->ints.size() != y.dims.size())) return;
  if (y.dims[at] != before[std::size_t(*changed)]) {
    return refuse(node, "makes " + text_of(y.dims) + " of " + text_of(before) + " and so changes the batch");
  }
  Dims sizes = y.dims;
  sizes[at] = new_value(x).dims[std::size_t(*changed)];
  node.inputs[slot] = add_constant(std::move(sizes));
}

// Constants that the exporter wrote for the old batch (an expanded class token, positions) take its size.
void Rebinding::widen_operands(Node& node) {
  const auto carrier = std::find_if(node.inputs.begin(), node.inputs.end(), [this](ValueId id) {
    return id != kNoValue && outer_of(id) != kNone && changed_dim(id).value_or(-1) >= 0;
  });
  if (carrier == node.inputs.end()) return;
  const Dims before = old_value(*carrier)->dims;
  const auto at = std::size_t(*changed_dim(*carrier));
  const std::int64_t size = new_value(*carrier).dims[at];
  const bool joins = node.kind == OpKind::Concat;
  const std::size_t from_end = before.size() - at;
  if (!joins && before[at] == 1) return;  // broadcasts
  if (node.kind == OpKind::MatMul && from_end <= 2) return;
  if (joins && normalize_axis(int_attribute(node, "axis", 1), before.size()) == std::int64_t(at)) return;
  for (ValueId& operand : node.inputs) {
    if (operand == kNoValue || outer_of(operand) != kNone) continue;
    const Value& value = new_value(operand);
    if (!value.is_constant || !has_known_dims(value) || value.dims.size() < from_end) continue;
    if (joins && value.dims.size() != before.size()) continue;
    const std::size_t axis = value.dims.size() - from_end;
    if (value.dims[axis] == before[at]) operand = widen(node, operand, axis, size);
  }
}

// The constant with its rows along `axis` repeated: a Gather that is evaluated before the network runs, at no cost.
ValueId Rebinding::widen(const Node& node, ValueId source, std::size_t axis, std::int64_t size) {
  const ValueId indices = add_constant({});
  new_.values[std::size_t(indices)].dims = {size};
  new_.values[std::size_t(indices)].literal.reset();  // any rows will do
  Value value;
  value.name = new_value(source).name + ", batch " + std::to_string(to_);
  value.dtype = new_value(source).dtype;
  value.has_shape = value.is_constant = true;
  value.dims = new_value(source).dims;
  value.dims[axis] = size;
  new_.values.push_back(std::move(value));
  const ValueId result = ValueId(new_.values.size()) - 1;
  widened_[result_of(node)].push_back({source, indices, result, std::int64_t(axis)});
  return result;
}

void Rebinding::locate(Node& node) {
  ValueId carrier = kNoValue;
  for (const ValueId id : node.inputs) {
    if (carrier == kNoValue && id != kNoValue && outer_of(id) != kNone) carrier = id;
  }
  bool grows = carrier == kNoValue || node.kind == OpKind::Shape || node.kind == OpKind::Size;
  for (const ValueId id : node.outputs) {
    if (id == kNoValue || !has_known_dims(*old_value(id))) continue;
    if (!has_known_dims(new_value(id))) {
      if (carrier != kNoValue)
        return refuse(node, "has a result, '" + new_value(id).name + "', whose shape the file alone states");
      keep_declared(id);
      continue;
    }
    const auto changed = changed_dim(id);
    if (!changed) {
      outer_[id] = kUnclear;
    } else if (*changed < 0) {
      outer_[id] = kNone;
    } else {
      outer_[id] = place_after(node, carrier, id, std::size_t(*changed));
    }
    grows = grows || outer_[id] != kNone;
  }
  if (!grows && lost_.empty()) lost_ = name_with_type(node);
}

std::int64_t Rebinding::place_after(const Node& node, ValueId carrier, ValueId id, std::size_t changed) const {
  const Dims& dims = old_value(id)->dims;
  const std::int64_t around = outer_product(dims, changed);
  const std::int64_t outer = outer_of(carrier);
  if (carrier == kNoValue || outer <= 0) return around;
  if (is_view(node.kind)) return outer;
  const auto source = changed_dim(carrier);
  if (!source || *source < 0) return around;
  const std::int64_t before = outer_product(old_value(carrier)->dims, std::size_t(*source));
  const std::int64_t within = before > 0 ? std::max<std::int64_t>(1, outer / before) : 1;
  return dims[changed] % checked_mul(within, from_) == 0 ? checked_mul(around, within) : around;
}

// A shape that only the file declares and that does not depend on the batch.
void Rebinding::keep_declared(ValueId id) {
  Value& value = new_.values[std::size_t(id)];
  value.dims = old_value(id)->dims;
  value.has_shape = true;
  kept_.push_back(id);
}

// The one dimension that differs between the two inferences; -1 when none does, nullopt when several do.
std::optional<std::ptrdiff_t> Rebinding::changed_dim(ValueId id) const {
  const Value* before = old_value(id);
  if (before == nullptr || !has_known_dims(*before) || !has_known_dims(new_value(id))) return -1;
  const Dims& now = new_value(id).dims;
  if (now.size() != before->dims.size()) return std::nullopt;
  std::ptrdiff_t changed = -1;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == before->dims[i]) continue;
    if (changed >= 0) return std::nullopt;
    changed = std::ptrdiff_t(i);
  }
  return changed;
}

std::int64_t Rebinding::outer_of(ValueId id) const {
  if (id == kNoValue) return kNone;
  if (const auto found = outer_.find(id); found != outer_.end()) return found->second;
  const auto changed = changed_dim(id);
  if (!changed) return kUnclear;
  return *changed < 0 ? kNone : outer_product(old_value(id)->dims, std::size_t(*changed));
}

ValueId Rebinding::add_constant(Dims contents) {
  Value value;
  value.name = "batch " + std::to_string(to_) + ": " + text_of(contents);
  value.dtype = DType::Int64;
  value.has_shape = true;
  value.role = ValueRole::Constant;
  value.is_constant = true;
  value.dims = {std::int64_t(contents.size())};
  value.literal = Literal{std::move(contents), {}};
  new_.values.push_back(std::move(value));
  return ValueId(new_.values.size()) - 1;
}

// Contents that follow from the inputs' shapes take the new batch by themselves.
bool Rebinding::follows(ValueId id) const {
  const Value* before = old_value(id);
  return before == nullptr || (before->literal && new_value(id).literal && before->literal != new_value(id).literal);
}

const Value* Rebinding::old_value(ValueId id) const {
  return id >= 0 && std::size_t(id) < old_.values.size() ? &old_.values[std::size_t(id)] : nullptr;
}

}  // namespace forerun
