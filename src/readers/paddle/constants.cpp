// Constants, inputs and results, lists of tensors.
#include <algorithm>
#include <charconv>

#include "base/checked.hpp"
#include "readers/paddle/operators.hpp"

namespace forerun::paddle {
namespace {

constexpr std::int64_t kMaxFullLiteral = 64;

double filled_with(const Call& c) {
  const std::string text = c.text("str_value", "");
  double value = c.real("value", c.real("fill_value", 0));
  if (!text.empty()) std::from_chars(text.data(), text.data() + text.size(), value);
  return value == value ? value : 0;
}

DType dtype_named(const Call& c) {
  const std::string name = c.text("dtype", "");
  if (!name.empty()) {
    if (const DType type = dtype_of_name(name); type != DType::Undefined) return type;
    return c.out() == kNoValue ? DType::Float32 : c.dtype(c.out());
  }
  const DType type = dtype_of_number(c.integer("dtype", -1));
  return type != DType::Undefined || c.out() == kNoValue ? type : c.dtype(c.out());
}

bool holds_integers(DType type) { return is_integer(type) || type == DType::Bool; }

// Small constants are kept with their contents: shape arithmetic needs them.
void set_constant(Call& c, DType type, const Dims& dims, double value) {
  const ValueId id = c.out();
  if (id == kNoValue) return;
  Value& target = c.w.value(id);
  if (target.role != ValueRole::Computed || c.w.producer(id) != nullptr) return;
  target.role = ValueRole::Constant;
  target.dtype = type;
  target.has_shape = true;
  target.dims = dims;
  const auto count = std::size_t(checked_product(dims));
  const bool integral = value > -9e18 && value < 9e18;
  if (holds_integers(type)) {
    target.literal = Literal{std::vector<std::int64_t>(count, integral ? std::int64_t(value) : 0), {}};
  } else {
    target.literal = Literal{{}, std::vector<double>(count, value)};
  }
}

}  // namespace

Status full(Call& c) {
  const DType type = dtype_named(c);
  const bool computed = (c.has("ShapeTensor") && !c.contents("ShapeTensor")) || !c.all("ShapeTensorList").empty();
  const std::vector<std::int64_t> shape = c.ints_of("ShapeTensor", "shape");
  const bool free = std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; });
  if (!computed && !free && checked_product(shape) <= kMaxFullLiteral) {
    set_constant(c, type, shape, filled_with(c));
    return ok();
  }
  c.emit(OpKind::ConstantOfShape, {c.shape_value("ShapeTensor", "ShapeTensorList", "shape")},
         {{"value_dtype", std::int64_t(type == DType::Undefined ? DType::Float32 : type)}});
  return ok();
}

// Of the shape of another tensor; *_batch_size_like copies its first dimension only.
Status full_like(Call& c) {
  const ValueId like = c.has("Input") ? c.in("Input") : c.in("X");
  if (like == kNoValue) return c.unknown();
  DType type = dtype_named(c);
  if (type == DType::Undefined) type = c.dtype(like);
  ValueId shape = c.w.op(OpKind::Shape, {like}, {}, DType::Int64);
  if (const std::vector<std::int64_t> wanted = c.ints("shape"); !wanted.empty()) {
    const std::int64_t from = c.integer("input_dim_idx", 0), to = c.integer("output_dim_idx", 0);
    const ValueId batch =
        c.w.op(OpKind::Slice, {shape, c.w.constant({from}), c.w.constant({from + 1}), c.w.constant({0})});
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      parts.push_back(std::int64_t(i) == to ? batch : c.w.constant({wanted[i]}));
    shape = c.w.op(OpKind::Concat, std::move(parts), {{"axis", std::int64_t{0}}});
  }
  c.emit(OpKind::ConstantOfShape, {shape}, {{"value_dtype", std::int64_t(type)}});
  return ok();
}

Status full_int_array(Call& c) {
  const ValueId id = c.out();
  if (id == kNoValue) return ok();
  const std::vector<std::int64_t> contents = c.ints("value");
  Value& target = c.w.value(id);
  if (target.role != ValueRole::Computed || c.w.producer(id) != nullptr) return ok();
  target.role = ValueRole::Constant;
  target.dtype = DType::Int64;
  target.has_shape = true;
  target.dims = {std::int64_t(contents.size())};
  if (std::int64_t(contents.size()) <= kMaxLiteralElements) target.literal = Literal{contents, {}};
  return ok();
}

Status assign_value(Call& c) {
  const ValueId id = c.out();
  if (id == kNoValue) return ok();
  const Dims shape = c.ints("shape");
  const DType type = dtype_named(c);
  Value& target = c.w.value(id);
  if (target.role != ValueRole::Computed || c.w.producer(id) != nullptr) return ok();
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; })) return c.unknown();
  target.role = ValueRole::Constant;
  if (type != DType::Undefined) target.dtype = type;
  target.has_shape = true;
  target.dims = shape;
  Literal literal;
  for (const std::string_view name : {"values", "int64_values", "int32_values", "bool_values", "fp32_values"}) {
    for (const double one : c.reals(name)) {
      if (holds_integers(target.dtype)) {
        literal.ints.push_back(one > -9e18 && one < 9e18 ? std::int64_t(one) : 0);
      } else {
        literal.reals.push_back(one);
      }
    }
    if (literal.ints.size() + literal.reals.size() > 0) break;
  }
  const auto held = std::int64_t(literal.ints.size() + literal.reals.size());
  if (held == checked_product(shape) && held <= kMaxLiteralElements) target.literal = std::move(literal);
  return ok();
}

Status arange(Call& c) {
  const auto bound = [&](std::string_view operand) {
    const ValueId id = c.in(operand);
    if (id == kNoValue) return id;
    const auto rank = c.rank(id);
    return rank && *rank == 1 ? c.w.op(OpKind::Squeeze, {id, c.w.constant({0})}) : id;
  };
  const ValueId start = bound("Start"), end = bound("End"), step = bound("Step");
  if (start == kNoValue || end == kNoValue || step == kNoValue) return c.unknown();
  c.emit(OpKind::Range, {start, end, step});
  return ok();
}

Status shape(Call& c) {
  const ValueId x = c.has("Input") ? c.in("Input") : c.in("X");
  if (x == kNoValue) return c.unknown();
  const DType wanted = c.out() == kNoValue ? DType::Int64 : c.dtype(c.out());
  if (wanted == DType::Int64 || !is_integer(wanted)) {
    c.emit(OpKind::Shape, {x});
  } else {
    const ValueId whole = c.w.op(OpKind::Shape, {x}, {}, DType::Int64);
    c.emit(OpKind::Cast, {whole}, {{"to", std::int64_t(wanted)}});
  }
  return ok();
}

// A list of tensors: no node, its members stand for it.
Status combine(Call& c) {
  std::vector<ValueId> members;
  for (const Slot& slot : c.op.inputs) {
    for (const std::int32_t native : slot.values) {
      const std::vector<ValueId>& list = c.t.list_of(native);
      members.insert(members.end(), list.begin(), list.end());
    }
  }
  c.w.charge(std::int64_t(members.size()) * 4);
  c.t.alias(c.native_out(0), std::move(members));
  return ok();
}

Status take_apart(Call& c) {
  if (c.op.inputs.empty() || c.op.inputs[0].values.empty()) return c.unknown();
  const std::vector<ValueId>& list = c.t.list_of(c.op.inputs[0].values[0]);
  for (std::size_t i = 0; i < c.op.outputs.size() && i < list.size(); ++i) c.t.alias(c.native_out(i), {list[i]});
  return ok();
}

Status list_member(Call& c) {
  if (c.op.inputs.empty() || c.op.inputs[0].values.empty()) return c.unknown();
  const std::vector<ValueId>& list = c.t.list_of(c.op.inputs[0].values[0]);
  const std::int64_t index = c.integer("index", 0);
  if (index < 0 || index >= std::int64_t(list.size())) return c.fail("names a member that the list does not have");
  c.t.alias(c.native_out(0), {list[std::size_t(index)]});
  return ok();
}

Status feed(Call& c) {
  const ValueId id = c.out();
  auto& inputs = c.w.graph.main().inputs;
  if (id != kNoValue && c.w.block == 0 && std::find(inputs.begin(), inputs.end(), id) == inputs.end())
    inputs.push_back(id);
  return ok();
}

Status data(Call& c) {
  const ValueId id = c.out();
  if (id != kNoValue && !c.text("name", "").empty()) c.w.value(id).name = c.text("name", "");
  return feed(c);
}

Status fetch(Call& c) {
  const ValueId id = c.in("X");
  if (id != kNoValue && c.w.block == 0) c.w.graph.main().outputs.push_back(id);
  return ok();
}

Status nothing(Call&) { return ok(); }

}  // namespace forerun::paddle
