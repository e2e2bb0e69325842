// Evaluation of small tensors, so that shapes computed inside the graph are known. Rules run after the shape rule; they
// set the output's contents when every input they need is known, and leave it alone otherwise.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

bool small_output(const RuleContext& c, std::size_t i = 0) {
  const Value* value = c.output(i);
  return value != nullptr && value->has_shape && value->form == ValueForm::Tensor &&
         elements_of(*value) <= kMaxLiteralElements;
}

std::size_t size_of(const Literal& literal) {
  return literal.reals.empty() ? literal.ints.size() : literal.reals.size();
}

double real_at(const Literal& literal, std::size_t i) {
  return literal.reals.empty() ? double(literal.ints[i]) : literal.reals[i];
}

// Literal of input i when its contents fit its shape.
const Literal* checked_literal(const RuleContext& c, std::size_t i) {
  const Literal* literal = c.literal(i);
  const Dims* dims = c.shape(i);
  if (literal == nullptr || dims == nullptr || std::int64_t(size_of(*literal)) != checked_product(*dims))
    return nullptr;
  return literal;
}

Literal pick(const Literal& from, const std::vector<std::size_t>& positions) {
  Literal result;
  for (const std::size_t p : positions) {
    if (from.reals.empty()) {
      result.ints.push_back(from.ints[p]);
    } else {
      result.reals.push_back(from.reals[p]);
    }
  }
  return result;
}

// Position in a tensor of shape `dims` that broadcasts to position `index` (multi-dimensional) of `result`.
std::size_t broadcast_position(const Dims& dims, const Dims& index) {
  std::size_t position = 0;
  const std::size_t skip = index.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    position = position * std::size_t(dims[i]) + std::size_t(dims[i] == 1 ? 0 : index[skip + i]);
  }
  return position;
}

void advance(Dims& index, const Dims& dims) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return;
    index[i] = 0;
  }
}

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

void fold_identity(RuleContext& c) {
  if (const Literal* x = c.literal(0); x != nullptr && small_output(c)) c.set_literal(0, *x);
}

void fold_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return;
  const auto rank = std::int64_t(x->size());
  const auto clip = [rank](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const std::int64_t start = clip(std::max(c.int_of("start", 0), -rank));
  const std::int64_t end = clip(std::max(c.int_of("end", rank), -rank));
  Literal result;
  if (end > start) result.ints.assign(x->begin() + start, x->begin() + end);
  c.set_literal(0, std::move(result));
}

void fold_size(RuleContext& c) {
  if (const Dims* x = c.shape(0)) c.set_literal(0, {{checked_product(*x)}, {}});
}

void fold_constant_of_shape(RuleContext& c) {
  if (!small_output(c)) return;
  const auto count = std::size_t(elements_of(*c.output(0)));
  Literal result;
  if (is_floating(c.output(0)->dtype)) {
    result.reals.assign(count, real_attribute(c.node(), "value", 0.0));
  } else {
    result.ints.assign(count, c.int_of("value", 0));
  }
  c.set_literal(0, std::move(result));
}

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

void fold_where(RuleContext& c) {
  const Literal* condition = checked_literal(c, 0);
  const Literal* yes = checked_literal(c, 1);
  const Literal* no = checked_literal(c, 2);
  if (condition == nullptr || yes == nullptr || no == nullptr || !small_output(c)) return;
  const Dims dims = c.output(0)->dims;
  const bool real = !yes->reals.empty() || !no->reals.empty();
  if (!condition->reals.empty()) return;
  Literal result;
  Dims index(dims.size(), 0);
  const std::int64_t count = checked_product(dims);
  for (std::int64_t n = 0; n < count; ++n) {
    const bool first = condition->ints[broadcast_position(*c.shape(0), index)] != 0;
    const Literal& from = first ? *yes : *no;
    const std::size_t at = broadcast_position(*c.shape(first ? 1 : 2), index);
    if (real) {
      result.reals.push_back(real_at(from, at));
    } else {
      result.ints.push_back(from.ints[at]);
    }
    advance(index, dims);
  }
  c.set_literal(0, std::move(result));
}

void fold_gather(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  const Literal* indices = checked_literal(c, 1);
  if (x == nullptr || indices == nullptr || !indices->reals.empty() || !small_output(c)) return;
  const Dims& dims = *c.shape(0);
  const auto axis = normalize_axis(c.int_of("axis", 0), dims.size());
  if (!axis) return;
  const std::span<const std::int64_t> all(dims);
  const std::int64_t outer = checked_product(all.first(std::size_t(*axis)));
  const std::int64_t inner = checked_product(all.subspan(std::size_t(*axis) + 1));
  const std::int64_t size = dims[std::size_t(*axis)];
  std::vector<std::size_t> positions;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t at : indices->ints) {
      if (at < 0) at += size;
      if (at < 0 || at >= size) return;
      for (std::int64_t i = 0; i < inner; ++i) positions.push_back(std::size_t((o * size + at) * inner + i));
    }
  }
  c.set_literal(0, pick(*x, positions));
}

void fold_slice(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  const auto starts = c.ints_of("starts", 1);
  if (x == nullptr || !starts || !small_output(c)) return;
  const Dims& from = *c.shape(0);
  const Dims& to = c.output(0)->dims;
  if (from.size() != to.size()) return;
  auto axes = c.ints_of("axes", 3);
  const auto steps = c.ints_of("steps", 4);
  Dims start(from.size(), 0), step(from.size(), 1);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = normalize_axis(axes ? (*axes)[i] : std::int64_t(i), from.size());
    if (!axis) return;
    const std::int64_t size = from[std::size_t(*axis)];
    const std::int64_t by = steps ? (*steps)[i] : 1;
    std::int64_t first = (*starts)[i];
    if (first < 0) first = std::max<std::int64_t>(first, -size - 1) + size;
    start[std::size_t(*axis)] =
        by > 0 ? std::clamp<std::int64_t>(first, 0, size) : std::clamp<std::int64_t>(first, -1, size - 1);
    step[std::size_t(*axis)] = by;
  }
  std::vector<std::size_t> positions;
  Dims index(to.size(), 0);
  const std::int64_t count = checked_product(to);
  for (std::int64_t n = 0; n < count; ++n) {
    std::size_t position = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      // A dimension of one element may carry an absurd step; it is never multiplied by more than 0 then.
      const std::int64_t at = index[i] == 0 ? start[i] : start[i] + index[i] * step[i];
      position = position * std::size_t(from[i]) + std::size_t(at);
    }
    if (position >= size_of(*x)) return;
    positions.push_back(position);
    advance(index, to);
  }
  c.set_literal(0, pick(*x, positions));
}

void fold_concat(RuleContext& c) {
  if (!small_output(c)) return;
  const Dims& to = c.output(0)->dims;
  const auto axis = normalize_axis(c.int_of("axis", 1), to.size());
  if (!axis) return;
  bool real = false;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Literal* literal = checked_literal(c, i);
    if (literal == nullptr) return;
    real = real || !literal->reals.empty();
  }
  Literal result;
  const std::int64_t outer = checked_product(std::span(to).first(std::size_t(*axis)));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < c.input_count(); ++i) {
      const Literal& literal = *c.literal(i);
      const std::size_t chunk = size_of(literal) / std::size_t(std::max<std::int64_t>(1, outer));
      for (std::size_t n = 0; n < chunk; ++n) {
        const std::size_t at = std::size_t(o) * chunk + n;
        if (real) {
          result.reals.push_back(real_at(literal, at));
        } else {
          result.ints.push_back(literal.ints[at]);
        }
      }
    }
  }
  c.set_literal(0, std::move(result));
}

void fold_split(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  if (x == nullptr) return;
  const Dims from = *c.shape(0);
  const auto axis = normalize_axis(c.int_of("axis", 0), from.size());
  if (!axis) return;
  const std::int64_t outer = checked_product(std::span(from).first(std::size_t(*axis)));
  const std::int64_t inner = checked_product(std::span(from).subspan(std::size_t(*axis) + 1));
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    const Value* part = c.output(i);
    if (part == nullptr || !part->has_shape || part->dims.size() != from.size()) return;
    const std::int64_t size = part->dims[std::size_t(*axis)];
    std::vector<std::size_t> positions;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t n = 0; n < size * inner; ++n) {
        positions.push_back(std::size_t((o * from[std::size_t(*axis)] + offset) * inner + n));
      }
    }
    c.set_literal(i, pick(*x, positions));
    offset += size;
  }
}

void fold_expand(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  if (x == nullptr || !small_output(c)) return;
  const Dims to = c.output(0)->dims;
  const Dims from = *c.shape(0);
  std::vector<std::size_t> positions;
  Dims index(to.size(), 0);
  const std::int64_t count = checked_product(to);
  for (std::int64_t n = 0; n < count; ++n) {
    if (c.node().kind == OpKind::Tile) {
      Dims wrapped = index;
      for (std::size_t i = 0; i < wrapped.size(); ++i) wrapped[i] = from[i] == 0 ? 0 : wrapped[i] % from[i];
      positions.push_back(broadcast_position(from, wrapped));
    } else {
      positions.push_back(broadcast_position(from, index));
    }
    advance(index, to);
  }
  c.set_literal(0, pick(*x, positions));
}

void fold_transpose(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  if (x == nullptr || !small_output(c)) return;
  const Dims from = *c.shape(0);
  const Dims to = c.output(0)->dims;
  const auto perm = c.ints_of("perm");
  std::vector<std::size_t> positions;
  Dims index(to.size(), 0);
  const std::int64_t count = checked_product(to);
  for (std::int64_t n = 0; n < count; ++n) {
    Dims source(from.size(), 0);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::int64_t axis = perm.empty() ? std::int64_t(to.size() - 1 - i) : *normalize_axis(perm[i], to.size());
      source[std::size_t(axis)] = index[i];
    }
    positions.push_back(broadcast_position(from, source));
    advance(index, to);
  }
  c.set_literal(0, pick(*x, positions));
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

void fold_non_zero(RuleContext& c) {
  const Literal* x = checked_literal(c, 0);
  const Dims* dims = c.shape(0);
  if (x == nullptr || dims->empty()) return;
  std::vector<Dims> hits;
  Dims index(dims->size(), 0);
  for (std::size_t n = 0; n < size_of(*x); ++n) {
    if (real_at(*x, n) != 0) hits.push_back(index);
    advance(index, *dims);
  }
  Literal result;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    for (const Dims& hit : hits) result.ints.push_back(hit[d]);
  }
  c.set(0, DType::Int64, {std::int64_t(dims->size()), std::int64_t(hits.size())});
  c.set_literal(0, std::move(result));
}

}  // namespace forerun
