// Evaluation of small tensors, so that shapes computed inside the graph are known. Rules run after the shape rule; they
// set the output's contents when every input they need is known, and leave it alone otherwise. Here: contents made of
// shapes, chosen and moved; fold_arithmetic.cpp computes with them.
#include <algorithm>

#include "ops/fold_contents.hpp"

namespace forerun {

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
  if (!small_output(c) || is_weight(*c.output(0))) return;
  const auto count = std::size_t(elements_of(*c.output(0)));
  Literal result;
  if (is_floating(c.output(0)->dtype)) {
    result.reals.assign(count, real_attribute(c.node(), "value", 0.0));
  } else {
    result.ints.assign(count, c.int_of("value", 0));
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
