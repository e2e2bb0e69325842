// Operators that work element by element: activations, arithmetic, comparisons, conversions.
#include <algorithm>
#include <cmath>

#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

// PyTorch's promotion: floating-point over integers over booleans, then the wider one; a number never widens a tensor
// of its own kind.
int category(DType type) {
  if (type == DType::Complex64 || type == DType::Complex128) return 3;
  if (is_floating(type)) return 2;
  return type == DType::Bool ? 0 : 1;
}

DType promote(const Call& c, ValueId a, ValueId b) {
  const DType x = c.dtype_of(a), y = c.dtype_of(b);
  if (x == y || y == DType::Undefined) return x;
  if (x == DType::Undefined) return y;
  if (category(x) != category(y)) return category(x) > category(y) ? x : y;
  if ((x == DType::Float16 && y == DType::BFloat16) || (x == DType::BFloat16 && y == DType::Float16))
    return DType::Float32;
  return bits_of(x) >= bits_of(y) ? x : y;
}

bool commutes(OpKind kind) {
  return kind == OpKind::Add || kind == OpKind::Mul || kind == OpKind::Max || kind == OpKind::Min ||
         kind == OpKind::And || kind == OpKind::Or || kind == OpKind::Xor || kind == OpKind::BitwiseAnd ||
         kind == OpKind::BitwiseOr || kind == OpKind::BitwiseXor;
}

// The type of a binary operator's result is that of its first operand.
ValueId typed(Call& c, OpKind kind, ValueId a, ValueId b, DType type) {
  if (c.dtype_of(a) != type && c.dtype_of(b) == type && commutes(kind)) std::swap(a, b);
  return c.node(kind, {c.cast(a, type), b});
}

// Both operands; a number takes the tensor's type.
std::pair<ValueId, ValueId> operands(Call& c) {
  const bool first = c.is_tensor("self"), second = c.is_tensor("other");
  const DType like = first ? c.dtype_of(c.tensor("self")) : second ? c.dtype_of(c.tensor("other")) : DType::Float32;
  const ValueId a = c.operand("self", like);
  return {a, c.operand("other", like)};
}

}  // namespace

void unary(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  // Functions of reals take integers as floats.
  const bool real = c.row().kind == OpKind::Exp || c.row().kind == OpKind::Sqrt || c.row().kind == OpKind::Sigmoid ||
                    c.row().kind == OpKind::Sin || c.row().kind == OpKind::Cos || c.row().kind == OpKind::Tanh ||
                    c.row().kind == OpKind::Log;
  const DType type = c.dtype_of(x);
  c.give(c.node(c.row().kind, {real && !is_floating(type) && category(type) < 2 ? c.cast(x, DType::Float32) : x}));
}

void binary(Call& c) {
  OpKind kind = c.row().kind;
  auto [a, b] = operands(c);
  if (c.failed()) return;
  if (kind == OpKind::Sub && c.dtype_of(a) == DType::Bool) kind = OpKind::Xor;
  DType type = promote(c, a, b);
  const std::string rounding = c.text("rounding_mode", "");
  const bool true_division = kind == OpKind::Div && rounding.empty() && c.row().name == "div";
  if (true_division && category(type) < 2) type = DType::Float32;
  if (const double alpha = c.real("alpha", 1); alpha != 1) b = c.node(OpKind::Mul, {b, c.scalar(alpha, c.dtype_of(b))});
  ValueId result = typed(c, kind, a, b, type);
  if (kind == OpKind::Div && !true_division && is_floating(type)) result = c.node(OpKind::Floor, {result});
  c.give(result);
}

void comparison(Call& c) {
  const auto [a, b] = operands(c);
  if (!c.failed()) c.give(c.node(c.row().kind, {a, b}));
}

void not_equal(Call& c) {
  const auto [a, b] = operands(c);
  if (!c.failed()) c.give(c.node(OpKind::Not, {c.node(OpKind::Equal, {a, b})}));
}

void square(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::Mul, {x, x}));
}

void reversed_subtraction(Call& c) {
  const auto [a, b] = operands(c);
  if (!c.failed()) c.give(typed(c, OpKind::Sub, b, a, promote(c, a, b)));
}

void power(Call& c) {
  const bool tensor = c.is_tensor("self");
  const DType like = tensor                    ? c.dtype_of(c.tensor("self"))
                     : c.is_tensor("exponent") ? c.dtype_of(c.tensor("exponent"))
                                               : DType::Float32;
  const ValueId x = c.operand("self", like), exponent = c.operand("exponent", like);
  if (!c.failed()) c.give(typed(c, OpKind::Pow, x, exponent, promote(c, x, exponent)));
}

// One kernel: x to the power -1/2.
void reciprocal_root(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::Pow, {x, c.scalar(-0.5, c.dtype_of(x))}));
}

void clip(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const bool tanh = c.row().name == "hardtanh";
  const auto limit = [&](std::string_view name, double fallback) {
    if (c.has(name)) return c.operand(name, c.dtype_of(x));
    return tanh ? c.scalar(fallback, c.dtype_of(x)) : kNoValue;
  };
  const ValueId low = limit(tanh ? "min_val" : "min", -1), high = limit(tanh ? "max_val" : "max", 1);
  c.give(c.node(OpKind::Clip, {x, low, high}));
}

void rectifier_6(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::Clip, {x, c.scalar(0, c.dtype_of(x)), c.scalar(6, c.dtype_of(x))}));
}

void silu(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::Mul, {x, c.node(OpKind::Sigmoid, {x})}));
}

void gated_linear(Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t at = std::int64_t(c.axis(c.integer("dim", -1), c.rank(x)));
  if (c.failed()) return;
  const auto halves = c.nodes(OpKind::Split, {x}, {{"axis", at}}, 2);
  c.give(c.node(OpKind::Mul, {halves[0], c.node(OpKind::Sigmoid, {halves[1]})}));
}

void gelu(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::Gelu, {x}, {{"approximate", c.text("approximate", "none")}}));
}

// LeakyRelu, Elu, Celu, Softplus and others whose only number is a slope or scale.
void with_slope(Call& c) {
  const ValueId x = c.tensor("self");
  const double alpha = c.has("negative_slope") ? c.real("negative_slope", 0.01) : c.real("alpha", 1);
  if (!c.failed()) c.give(c.node(c.row().kind, {x}, {{"alpha", alpha}}));
}

void parametric_rectifier(Call& c) {
  const ValueId x = c.tensor("self");
  ValueId slope = c.tensor("weight");
  const std::size_t rank = c.rank(x);
  if (c.failed()) return;
  if (c.dims(slope).size() == 1 && rank > 2) {  // one slope a channel
    std::vector<std::int64_t> axes;
    for (std::size_t i = 1; i + 1 < rank; ++i) axes.push_back(std::int64_t(i));
    slope = c.unsqueeze(slope, axes);
  }
  c.give(c.node(OpKind::PRelu, {x, slope}));
}

void where(Call& c) {
  const ValueId condition = c.tensor("condition");
  if (!c.has("self")) {  // the positions where it holds
    const ValueId found = c.node(OpKind::NonZero, {condition});
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < c.rank(condition); ++i)
      parts.push_back(c.node(OpKind::Gather, {found, c.scalar(double(i), DType::Int64)}, {{"axis", std::int64_t{0}}}));
    return c.give_list(parts);
  }
  const auto [a, b] = operands(c);
  if (c.failed()) return;
  const DType type = promote(c, a, b);
  c.give(c.node(OpKind::Where, {condition, c.cast(a, type), c.cast(b, type)}));
}

void masked_fill(Call& c) {
  const ValueId x = c.tensor("self"), mask = c.tensor("mask");
  if (c.failed()) return;
  const ValueId value = c.operand("value", c.dtype_of(x));
  c.give(c.node(OpKind::Where, {mask, value, x}));
}

// self + value * a * b, and self + value * a / b.
void fused_multiply_add(Call& c) {
  const ValueId x = c.tensor("self"), a = c.tensor("tensor1"), b = c.tensor("tensor2");
  if (c.failed()) return;
  ValueId product = c.node(c.row().kind, {a, b});
  if (const double scale = c.real("value", 1); scale != 1)
    product = c.node(OpKind::Mul, {product, c.scalar(scale, c.dtype_of(product))});
  c.give(c.node(OpKind::Add, {x, product}));
}

void interpolate_between(Call& c) {
  const ValueId from = c.tensor("self"), to = c.tensor("end");
  if (c.failed()) return;
  const ValueId weight = c.operand("weight", c.dtype_of(from));
  const ValueId step = c.node(OpKind::Mul, {c.node(OpKind::Sub, {to, from}), weight});
  c.give(c.node(OpKind::Add, {from, step}));
}

// to, _to_copy, type: the element type is an argument by name, or the first number after the tensor.
void convert(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  DType type = c.row().kind == OpKind::Unknown ? c.dtype("dtype").value_or(DType::Undefined) : DType::Undefined;
  constexpr std::pair<std::string_view, DType> kNamed[] = {
      {"float", DType::Float32}, {"half", DType::Float16}, {"bfloat16", DType::BFloat16}, {"double", DType::Float64},
      {"long", DType::Int64},    {"int", DType::Int32},    {"bool", DType::Bool},
  };
  for (const auto& [name, named] : kNamed) {
    if (c.row().name == name) type = named;
  }
  for (std::size_t i = 1; i < c.arguments().size() && type == DType::Undefined; ++i) {
    const Argument& argument = c.arguments()[i].second;
    if (const auto* other = argument.as<Tensor>(); other != nullptr && c.arguments()[i].first != "self")
      type = c.dtype_of(other->id);
    const auto* number = argument.as<std::int64_t>();
    if (number != nullptr && i <= 2 && c.arguments()[i].first.empty()) type = dtype_of_number(*number);
    if (const auto* given = argument.as<ElementType>()) type = given->type;
  }
  c.give(c.cast(x, type));
}

void convert_like(Call& c) {
  const ValueId x = c.tensor("self"), other = c.tensor("other");
  if (!c.failed()) c.give(c.cast(x, c.dtype_of(other)));
}

// What does not change the values: contiguous, clone, detach, alias, ….
void same(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(x);
}

void nothing(Call&) {}

void dropout(Call& c) {
  const ValueId x = c.tensor(c.has("self") ? "self" : "input");  // in place, its argument has another name
  if (c.failed()) return;
  const ValueId y = c.flag("train", false) ? c.node(OpKind::Dropout, {x}) : x;
  c.give(y);
  if (c.row().name == "native_dropout") c.give(y);
}

}  // namespace forerun::pytorch
