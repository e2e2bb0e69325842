// Walks a program's blocks and hands every operator to its builder.
#include <algorithm>

#include "readers/paddle/operators.hpp"
#include "readers/printable.hpp"

namespace forerun::paddle {
namespace {

// Handles of the runtime, which take no memory.
Dims named_dims(Value& value, const std::string& name, const TensorType& type) {
  value.dim_names.assign(type.dims.size(), "");
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i] == kUnknownDim) value.dim_names[i] = i == 0 ? "batch" : name + "_" + std::to_string(i);
  }
  return type.dims;
}

}  // namespace

std::vector<std::int64_t> iota(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = from; i < to; ++i) values.push_back(i);
  return values;
}

const std::vector<ValueId>& Translator::list_of(std::int32_t native) {
  static const std::vector<ValueId> kEmpty;
  if (native == kNone) return kEmpty;
  std::vector<ValueId>& ids = ids_[std::size_t(native)];
  if (!ids.empty()) return ids;
  const NativeValue& from = program.values[std::size_t(native)];
  const auto make = [&](const TensorType& type) {
    const ValueId id = w.new_value(from.name, type.dtype);
    Value& value = w.value(id);
    if (type.has_shape && !value.has_shape) {
      value.has_shape = true;
      value.dims = type.dims;
      w.charge(std::int64_t(type.dims.size()) * 8);
    }
    if (native_of_.size() <= std::size_t(id)) native_of_.resize(std::size_t(id) + 1, kNone);
    native_of_[std::size_t(id)] = native;
    ids.push_back(id);
  };
  if (!from.members.empty()) {
    for (const TensorType& member : from.members) make(member);
    return ids;
  }
  make(from.type);
  if (from.is_stored) {
    Value& value = w.value(ids[0]);
    value.role = is_floating(value.dtype) || is_quantized(value.dtype) ? ValueRole::Weight : ValueRole::Constant;
    if (std::any_of(value.dims.begin(), value.dims.end(), [](std::int64_t d) { return d < 0; }))
      value.role = ValueRole::Constant;
  }
  return ids;
}

ValueId Translator::id_of(std::int32_t native) {
  const std::vector<ValueId>& ids = list_of(native);
  return ids.empty() ? kNoValue : ids[0];
}

std::int32_t Translator::uses_of(ValueId id) const {
  if (id == kNoValue || std::size_t(id) >= native_of_.size() || native_of_[std::size_t(id)] == kNone) return 0;
  return native_uses_[std::size_t(native_of_[std::size_t(id)])];
}

void Translator::count_uses() {
  native_uses_.assign(program.values.size(), 0);
  const auto count = [&](std::int32_t value) {
    if (value != kNone) ++native_uses_[std::size_t(value)];
  };
  for (const NativeBlock& block : program.blocks) {
    for (const std::int32_t value : block.results) count(value);
    for (const NativeOp& op : block.ops) {
      for (const Slot& slot : op.inputs) std::for_each(slot.values.begin(), slot.values.end(), count);
    }
  }
}

Status Translator::translate_op(const NativeOp& op) {
  w.op_type = op.type;
  w.module = op.module;
  while (!w.module.empty() && w.module.front() == '/') w.module.erase(0, 1);
  while (!w.module.empty() && w.module.back() == '/') w.module.pop_back();
  const Operator* row = find_operator(op.type);
  static const Operator kUnknown{.type = "", .inputs = "", .outputs = "", .build = nullptr, .kind = OpKind::Unknown};
  Call call(*this, op, row == nullptr ? kUnknown : *row);
  w.name.clear();
  if (const std::int32_t result = call.native_out(0); result != kNone)
    w.name = printable(program.values[std::size_t(result)].name);
  const std::size_t first = w.node_count();
  FORERUN_CHECK(row == nullptr ? call.unknown() : row->build(call));
  w.settle_names(first);
  return ok();
}

Status Translator::translate_block(const NativeBlock& block, int block_depth) {
  if (block_depth >= kMaxDepth) return bad_input("blocks are nested more than " + std::to_string(kMaxDepth) + " deep");
  for (const NativeOp& op : block.ops) {
    FORERUN_CHECK(translate_op(op));
    if (!w.has_room()) return w.finish().error();
  }
  return ok();
}

Result<Graph> Translator::run() {
  count_uses();
  w.graph.origin.framework = Framework::PaddlePaddle;
  w.graph.origin.exporter = "PaddlePaddle" + (program.version.empty() ? "" : " " + program.version);
  w.graph.format = "paddle";
  FORERUN_CHECK(translate_block(program.blocks[0], 0));
  for (const ValueId id : w.graph.main().inputs) {
    Value& value = w.value(id);
    value.role = ValueRole::Input;
    TensorType type;
    type.dims = value.dims;
    named_dims(value, value.name, type);
  }
  return w.finish();
}

Result<Graph> translate(const Program& program) { return Translator(program).run(); }

std::size_t Call::place_of(std::string_view names, std::string_view name) {
  std::size_t place = 0;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    if (names.substr(0, comma) == name) return place;
    if (comma == std::string_view::npos) break;
    names.remove_prefix(comma + 1);
    ++place;
  }
  return std::string_view::npos;
}

std::vector<std::int32_t> Call::natives(std::string_view input) const {
  if (t.program.is_pir) {
    const std::size_t place = place_of(row_.inputs, input);
    return place < op.inputs.size() ? op.inputs[place].values : std::vector<std::int32_t>{};
  }
  for (const Slot& slot : op.inputs) {
    if (slot.name == input) return slot.values;
  }
  return {};
}

std::vector<ValueId> Call::all(std::string_view input) const {
  std::vector<ValueId> ids;
  for (const std::int32_t native : natives(input)) {
    const std::vector<ValueId>& list = t.list_of(native);
    ids.insert(ids.end(), list.begin(), list.end());
  }
  return ids;
}

ValueId Call::in(std::string_view input) const {
  const std::vector<std::int32_t> values = natives(input);
  return values.empty() ? kNoValue : t.id_of(values[0]);
}

std::optional<Dims> Call::dims(ValueId id) const {
  if (id == kNoValue || !w.value(id).has_shape) return std::nullopt;
  return w.value(id).dims;
}

std::optional<std::size_t> Call::rank(ValueId id) const {
  if (id == kNoValue || !w.value(id).has_shape) return std::nullopt;
  return w.value(id).dims.size();
}

std::int32_t Call::native_out(std::size_t i) const {
  if (t.program.is_pir) return i < op.outputs.size() && !op.outputs[i].values.empty() ? op.outputs[i].values[0] : kNone;
  for (const Slot& slot : op.outputs) {
    if (place_of(row_.outputs, slot.name) == i) return slot.values.empty() ? kNone : slot.values[0];
  }
  return kNone;
}

std::vector<ValueId> Call::outs(std::size_t i) const {
  std::vector<ValueId> ids;
  const auto append = [&](const Slot& slot) {
    for (const std::int32_t native : slot.values) {
      const std::vector<ValueId>& list = t.list_of(native);
      ids.insert(ids.end(), list.begin(), list.end());
    }
  };
  if (t.program.is_pir) {
    if (i < op.outputs.size()) append(op.outputs[i]);
    return ids;
  }
  for (const Slot& slot : op.outputs) {
    if (place_of(row_.outputs, slot.name) == i) append(slot);
  }
  return ids;
}

ValueId Call::out(std::size_t i) const {
  const std::int32_t native = native_out(i);
  return native == kNone ? kNoValue : t.id_of(native);
}

bool Call::is_used(std::size_t output) const {
  for (const ValueId id : outs(output)) {
    if (t.uses_of(id) > 0) return true;
  }
  return false;
}

const NativeAttribute* Call::attribute(std::string_view name) const {
  for (const NamedAttribute& one : op.attributes) {
    if (one.name == name) return &one.value;
  }
  return nullptr;
}

std::int64_t Call::integer(std::string_view name, std::int64_t fallback) const {
  const NativeAttribute* held = attribute(name);
  if (held == nullptr) return fallback;
  if (const auto* number = std::get_if<std::int64_t>(held)) return *number;
  if (const auto* number = std::get_if<double>(held))
    return *number > -1e15 && *number < 1e15 ? std::int64_t(*number) : fallback;
  return fallback;
}

double Call::real(std::string_view name, double fallback) const {
  const NativeAttribute* held = attribute(name);
  if (held == nullptr) return fallback;
  if (const auto* number = std::get_if<double>(held)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(held)) return double(*number);
  return fallback;
}

std::string Call::text(std::string_view name, std::string_view fallback) const {
  const NativeAttribute* held = attribute(name);
  const auto* words = held == nullptr ? nullptr : std::get_if<std::string>(held);
  return words == nullptr ? std::string(fallback) : *words;
}

std::vector<std::int64_t> Call::ints(std::string_view name) const {
  const NativeAttribute* held = attribute(name);
  if (held == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(held)) return *list;
  if (const auto* number = std::get_if<std::int64_t>(held)) return {*number};
  std::vector<std::int64_t> values;
  if (const auto* list = std::get_if<std::vector<double>>(held)) {
    for (const double one : *list) values.push_back(one > -1e15 && one < 1e15 ? std::int64_t(one) : 0);
  }
  return values;
}

std::vector<double> Call::reals(std::string_view name) const {
  const NativeAttribute* held = attribute(name);
  if (held == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<double>>(held)) return *list;
  if (const auto* number = std::get_if<double>(held)) return {*number};
  std::vector<double> values;
  for (const std::int64_t one : ints(name)) values.push_back(double(one));
  return values;
}

std::optional<std::vector<std::int64_t>> Call::contents(std::string_view input) const {
  const ValueId id = in(input);
  if (id == kNoValue || !w.value(id).literal) return std::nullopt;
  const Literal& literal = *w.value(id).literal;
  if (!literal.ints.empty() || literal.reals.empty()) return literal.ints;
  std::vector<std::int64_t> values;
  for (const double one : literal.reals) values.push_back(one > -1e15 && one < 1e15 ? std::int64_t(one) : 0);
  return values;
}

std::vector<std::int64_t> Call::ints_of(std::string_view input, std::string_view name) const {
  if (const auto known = contents(input)) return *known;
  return ints(name);
}

ValueId Call::shape_value(std::string_view input, std::string_view list, std::string_view name) {
  if (const ValueId id = in(input); id != kNoValue) {
    return dtype(id) == DType::Int64 ? id
                                     : w.op(OpKind::Cast, {id}, {{"to", std::int64_t(DType::Int64)}}, DType::Int64);
  }
  const std::vector<ValueId> parts = list.empty() ? std::vector<ValueId>{} : all(list);
  if (parts.empty()) return w.constant(ints(name));
  std::vector<ValueId> flat;
  for (ValueId part : parts) {
    if (dtype(part) != DType::Int64)
      part = w.op(OpKind::Cast, {part}, {{"to", std::int64_t(DType::Int64)}}, DType::Int64);
    flat.push_back(w.op(OpKind::Reshape, {part, w.constant({1})}));
  }
  return w.op(OpKind::Concat, std::move(flat), {{"axis", std::int64_t{0}}});
}

void Call::emit(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  w.add(kind, std::move(inputs), {out(0)}, std::move(attributes));
}

ValueId Call::channels_first(ValueId x, bool last) {
  const auto size = std::int64_t(rank(x).value_or(0));
  if (!last || size < 3) return x;
  std::vector<std::int64_t> perm = {0, size - 1};
  for (std::int64_t i = 1; i + 1 < size; ++i) perm.push_back(i);
  const ValueId result = w.op(OpKind::Transpose, {x}, {{"perm", std::move(perm)}});
  return result;
}

void Call::emit_layout(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                       bool channels_last) {
  const auto size = inputs.empty() ? 0 : std::int64_t(rank(inputs[0]).value_or(0));
  if (!channels_last || size < 3) return emit(kind, std::move(inputs), std::move(attributes));
  inputs[0] = channels_first(inputs[0], true);
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  const ValueId result = w.op(kind, std::move(inputs), std::move(attributes));
  std::vector<std::int64_t> perm = {0};
  for (std::int64_t i = 2; i < size; ++i) perm.push_back(i);
  perm.push_back(1);
  emit(OpKind::Transpose, {result}, {{"perm", std::move(perm)}});
}

Status Call::unknown() {
  std::vector<ValueId> inputs, outputs;
  for (const Slot& slot : op.inputs) {
    for (const std::int32_t native : slot.values) {
      const std::vector<ValueId>& list = t.list_of(native);
      inputs.insert(inputs.end(), list.begin(), list.end());
    }
  }
  for (const Slot& slot : op.outputs) {
    for (const std::int32_t native : slot.values) {
      const std::vector<ValueId>& list = t.list_of(native);
      outputs.insert(outputs.end(), list.begin(), list.end());
    }
  }
  w.unknown("paddle", std::move(inputs), std::move(outputs));
  return ok();
}

Error Call::fail(const std::string& what) const {
  return bad_input("operator " + op.type + (w.name.empty() ? "" : " making " + in_quotes(w.name)) + ": " + what);
}

}  // namespace forerun::paddle
