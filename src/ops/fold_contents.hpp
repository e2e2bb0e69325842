// Shared by the rules that evaluate small tensors: contents by position.
#pragma once

#include <vector>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {

[[nodiscard]] inline bool small_output(const RuleContext& c, std::size_t i = 0) {
  const Value* value = c.output(i);
  return value != nullptr && value->has_shape && value->form == ValueForm::Tensor &&
         elements_of(*value) <= kMaxLiteralElements;
}

[[nodiscard]] inline std::size_t size_of(const Literal& literal) {
  return literal.reals.empty() ? literal.ints.size() : literal.reals.size();
}

[[nodiscard]] inline double real_at(const Literal& literal, std::size_t i) {
  return literal.reals.empty() ? double(literal.ints[i]) : literal.reals[i];
}

// Literal of input i when its contents fit its shape.
[[nodiscard]] inline const Literal* checked_literal(const RuleContext& c, std::size_t i) {
  const Literal* literal = c.literal(i);
  const Dims* dims = c.shape(i);
  if (literal == nullptr || dims == nullptr || std::int64_t(size_of(*literal)) != checked_product(*dims))
    return nullptr;
  return literal;
}

[[nodiscard]] inline Literal pick(const Literal& from, const std::vector<std::size_t>& positions) {
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
[[nodiscard]] inline std::size_t broadcast_position(const Dims& dims, const Dims& index) {
  std::size_t position = 0;
  const std::size_t skip = index.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    position = position * std::size_t(dims[i]) + std::size_t(dims[i] == 1 ? 0 : index[skip + i]);
  }
  return position;
}

inline void advance(Dims& index, const Dims& dims) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return;
    index[i] = 0;
  }
}

}  // namespace forerun
