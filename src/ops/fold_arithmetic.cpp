// Arithmetic on the contents of small tensors; see fold.cpp.
#include <algorithm>
#include <cmath>
#include <functional>

#include "ops/fold_contents.hpp"

namespace forerun {
namespace {

// Integer arithmetic that wraps instead of being undefined; division by zero gives 0 (the file is at fault).
std::int64_t wrap(std::uint64_t value) { return std::int64_t(value); }

std::int64_t integer_binary(OpKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case OpKind::Add: return wrap(std::uint64_t(a) + std::uint64_t(b));
    case OpKind::Sub: return wrap(std::uint64_t(a) - std::uint64_t(b));
    case OpKind::Mul: return wrap(std::uint64_t(a) * std::uint64_t(b));
    case OpKind::Div: return b == 0 ? 0 : b == -1 ? wrap(0 - std::uint64_t(a)) : a / b;
    case OpKind::Mod: {
      if (b == 0 || b == -1) return 0;
      const std::int64_t rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case OpKind::Min: return std::min(a, b);
    case OpKind::Max: return std::max(a, b);
    case OpKind::Pow: {
      const double power = std::pow(double(a), double(b));
      return std::abs(power) < 9e18 ? std::int64_t(power) : 0;
    }
    case OpKind::Equal: return a == b;
    case OpKind::Greater: return a > b;
    case OpKind::GreaterOrEqual: return a >= b;
    case OpKind::Less: return a < b;
    case OpKind::LessOrEqual: return a <= b;
    case OpKind::And: return a != 0 && b != 0;
    case OpKind::Or: return a != 0 || b != 0;
    case OpKind::Xor: return (a != 0) != (b != 0);
    default: return 0;
  }
}

double real_binary(OpKind kind, double a, double b) {
  switch (kind) {
    case OpKind::Add: return a + b;
    case OpKind::Sub: return a - b;
    case OpKind::Mul: return a * b;
    case OpKind::Div: return b == 0 ? 0 : a / b;
    case OpKind::Mod: return b == 0 ? 0 : std::fmod(a, b);
    case OpKind::Min: return std::min(a, b);
    case OpKind::Max: return std::max(a, b);
    case OpKind::Pow: return std::pow(a, b);
    case OpKind::Equal: return a == b;
    case OpKind::Greater: return a > b;
    case OpKind::GreaterOrEqual: return a >= b;
    case OpKind::Less: return a < b;
    case OpKind::LessOrEqual: return a <= b;
    default: return 0;
  }
}

bool gives_bool(OpKind kind) {
  switch (kind) {
    case OpKind::Equal:
    case OpKind::Greater:
    case OpKind::GreaterOrEqual:
    case OpKind::Less:
    case OpKind::LessOrEqual:
    case OpKind::And:
    case OpKind::Or:
    case OpKind::Xor: return true;
    default: return false;
  }
}

// A real converted as C++ may: clamped into the integer range, NaN to 0.
std::int64_t to_integer(double value) {
  if (std::isnan(value)) return 0;
  return value >= 9.2e18    ? std::int64_t{9'200'000'000'000'000'000}
         : value <= -9.2e18 ? std::int64_t{-9'200'000'000'000'000'000}
                            : std::int64_t(value);
}

}  // namespace

void fold_range(RuleContext& c) {
  const Literal* start = c.literal(0);
  const Literal* delta = c.literal(2);
  if (start == nullptr || delta == nullptr || size_of(*start) != 1 || size_of(*delta) != 1 || !small_output(c)) return;
  Literal result;
  const std::int64_t count = elements_of(*c.output(0));
  for (std::int64_t i = 0; i < count; ++i) {
    if (start->reals.empty() && delta->reals.empty()) {
      result.ints.push_back(wrap(std::uint64_t(start->ints[0]) + std::uint64_t(i) * std::uint64_t(delta->ints[0])));
    } else {
      result.reals.push_back(real_at(*start, 0) + double(i) * real_at(*delta, 0));
    }
  }
  c.set_literal(0, std::move(result));
}

void fold_cast(RuleContext& c) {
  const Literal* x = c.literal(0);
  if (x == nullptr || !small_output(c)) return;
  Literal result;
  const DType type = c.output(0)->dtype;
  for (std::size_t i = 0; i < size_of(*x); ++i) {
    if (is_floating(type)) {
      result.reals.push_back(real_at(*x, i));
    } else {
      const std::int64_t value = x->reals.empty() ? x->ints[i] : to_integer(x->reals[i]);
      result.ints.push_back(type == DType::Bool ? value != 0 : value);
    }
  }
  c.set_literal(0, std::move(result));
}

void fold_unary(RuleContext& c) {
  const Literal* x = c.literal(0);
  if (x == nullptr || !small_output(c)) return;
  const OpKind kind = c.node().kind;
  Literal result = *x;
  for (std::int64_t& value : result.ints) {
    if (kind == OpKind::Neg) value = wrap(0 - std::uint64_t(value));
    if (kind == OpKind::Abs) value = value < 0 ? wrap(0 - std::uint64_t(value)) : value;
    if (kind == OpKind::Not) value = value == 0;
    if (kind == OpKind::Sign) value = (value > 0) - (value < 0);
  }
  for (double& value : result.reals) {
    if (kind == OpKind::Neg) value = -value;
    if (kind == OpKind::Abs) value = std::abs(value);
    if (kind == OpKind::Floor) value = std::floor(value);
    if (kind == OpKind::Ceil) value = std::ceil(value);
    if (kind == OpKind::Round) value = std::nearbyint(value);
    if (kind == OpKind::Sqrt) value = std::sqrt(value);
    if (kind == OpKind::Reciprocal) value = value == 0 ? 0 : 1 / value;
  }
  c.set_literal(0, std::move(result));
}

// Limits are inputs, or attributes before opset 11; Relu has none but 0.
void fold_clip(RuleContext& c) {
  const Literal* x = c.literal(0);
  if (x == nullptr || !small_output(c)) return;
  const bool relu = c.node().kind == OpKind::Relu;
  double low = relu ? 0 : real_attribute(c.node(), "min", -HUGE_VAL),
         high = relu ? HUGE_VAL : real_attribute(c.node(), "max", HUGE_VAL);
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    if (c.input(i) == nullptr) continue;
    const Literal* limit = checked_literal(c, i);
    if (limit == nullptr || size_of(*limit) != 1) return;
    (i == 1 ? low : high) = real_at(*limit, 0);
  }
  Literal result = *x;
  for (std::int64_t& value : result.ints) {
    if (double(value) < low) value = to_integer(low);
    if (double(value) > high) value = to_integer(high);
  }
  for (double& value : result.reals) value = std::min(std::max(value, low), high);
  c.set_literal(0, std::move(result));
}

void fold_binary(RuleContext& c) {
  if (!small_output(c) || c.input_count() == 0) return;
  const OpKind kind = c.node().kind;
  const Dims result_dims = c.output(0)->dims;
  std::vector<std::pair<const Literal*, const Dims*>> inputs;
  bool real = false;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Literal* literal = checked_literal(c, i);
    if (literal == nullptr || broadcast(*c.shape(i), result_dims) != result_dims) return;
    inputs.emplace_back(literal, c.shape(i));
    real = real || !literal->reals.empty();
  }
  const std::int64_t count = checked_product(result_dims);
  Literal result;
  Dims index(result_dims.size(), 0);
  for (std::int64_t n = 0; n < count; ++n) {
    std::size_t at = broadcast_position(*inputs[0].second, index);
    if (real) {
      double value = real_at(*inputs[0].first, at);
      for (std::size_t i = 1; i < inputs.size(); ++i) {
        value = real_binary(kind, value, real_at(*inputs[i].first, broadcast_position(*inputs[i].second, index)));
      }
      if (gives_bool(kind)) {
        result.ints.push_back(value != 0);
      } else {
        result.reals.push_back(value);
      }
    } else {
      std::int64_t value = inputs[0].first->ints[at];
      for (std::size_t i = 1; i < inputs.size(); ++i) {
        value = integer_binary(kind, value, inputs[i].first->ints[broadcast_position(*inputs[i].second, index)]);
      }
      result.ints.push_back(value);
    }
    advance(index, result_dims);
  }
  c.set_literal(0, std::move(result));
}

void fold_reduce(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  // Only whole reductions: shape arithmetic needs no others.
  if (x == nullptr || !small_output(c) || elements_of(*c.output(0)) != 1 || size_of(*x) == 0) return;
  const OpKind kind = c.node().kind;
  const auto combine = [kind](auto a, auto b) {
    return kind == OpKind::ReduceProd  ? a * b
           : kind == OpKind::ReduceMin ? std::min(a, b)
           : kind == OpKind::ReduceMax ? std::max(a, b)
                                       : a + b;
  };
  Literal result;
  if (x->reals.empty()) {
    std::int64_t value = x->ints[0];
    for (std::size_t i = 1; i < x->ints.size(); ++i) {
      value = kind == OpKind::ReduceProd  ? integer_binary(OpKind::Mul, value, x->ints[i])
              : kind == OpKind::ReduceSum ? integer_binary(OpKind::Add, value, x->ints[i])
                                          : combine(value, x->ints[i]);
    }
    result.ints.push_back(value);
  } else {
    double value = x->reals[0];
    for (std::size_t i = 1; i < x->reals.size(); ++i) value = combine(value, x->reals[i]);
    result.reals.push_back(value);
  }
  c.set_literal(0, std::move(result));
}

}  // namespace forerun
