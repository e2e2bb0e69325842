// Shape rules of operators that keep or broadcast their inputs' shapes.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

Status copy_shape(RuleContext& c, std::size_t output, DType type) {
  if (const Dims* dims = c.shape(0)) c.set(output, type, *dims);
  return ok();
}

Status broadcast_all(RuleContext& c, DType type) {
  Dims result;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (c.input(i) == nullptr) continue;
    const Dims* dims = c.shape(i);
    if (dims == nullptr) return ok();
    auto next = broadcast(result, *dims);
    if (!next) {
      if (c.int_of("broadcast", 0) == 1) continue;  // opset < 7: one-directional, with an axis; input 0 decides
      // The file is wrong (or bound to sizes it does not allow); inference continues with the largest operand.
      const auto largest = [&c] {
        const Dims* best = nullptr;
        for (std::size_t n = 0; n < c.input_count(); ++n) {
          const Dims* own = c.shape(n);
          if (own != nullptr && (best == nullptr || checked_product(*own) > checked_product(*best))) best = own;
        }
        return *best;
      };
      c.set(0, type, largest());
      return c.fail("shapes do not broadcast; the largest operand's is assumed");
    }
    result = std::move(*next);
  }
  c.set(0, type, std::move(result));
  return ok();
}

}  // namespace

Status same_shape(RuleContext& c) {
  if (const Value* value = c.input(0); value != nullptr && value->form != ValueForm::Tensor) {
    c.set_form(0, value->form, value->dtype);
    return ok();
  }
  return copy_shape(c, 0, c.dtype(0));
}

Status all_same_shape(RuleContext& c) {
  for (std::size_t i = 0; i < c.output_count(); ++i) FORERUN_CHECK(copy_shape(c, i, c.dtype(0)));
  return ok();
}

Status broadcast_shape(RuleContext& c) { return broadcast_all(c, c.dtype(0)); }
Status comparison_shape(RuleContext& c) { return broadcast_all(c, DType::Bool); }
Status predicate_shape(RuleContext& c) { return copy_shape(c, 0, DType::Bool); }
Status where_shape(RuleContext& c) { return broadcast_all(c, c.dtype(1)); }

Status cast_shape(RuleContext& c) {
  const std::int64_t to = c.int_of("to", 0);
  if (to <= 0 || to >= std::int64_t(DType::Count)) return c.fail("unknown element type " + std::to_string(to));
  return copy_shape(c, 0, DType(to));
}

Status cast_like_shape(RuleContext& c) { return copy_shape(c, 0, c.dtype(1)); }

Status dropout_shape(RuleContext& c) {
  FORERUN_CHECK(copy_shape(c, 0, c.dtype(0)));
  return copy_shape(c, 1, DType::Bool);
}

Status norm_shape(RuleContext& c) {
  const Dims* dims = c.shape(0);
  if (dims == nullptr) return ok();
  c.set(0, c.dtype(0), *dims);
  if (c.output_count() > 1) {
    const auto axis = normalize_axis(c.int_of("axis", -1), dims->size());
    Dims statistics = *dims;
    for (std::size_t i = std::size_t(axis.value_or(0)); i < statistics.size(); ++i) statistics[i] = 1;
    for (std::size_t i = 1; i < c.output_count(); ++i) c.set(i, DType::Float32, statistics);
  }
  return ok();
}

Status batch_norm_shape(RuleContext& c) {
  FORERUN_CHECK(copy_shape(c, 0, c.dtype(0)));
  for (std::size_t i = 1; i < c.output_count(); ++i) {
    if (const Dims* dims = c.shape(1)) c.set(i, c.dtype(1), *dims);
  }
  return ok();
}

Status skip_norm_shape(RuleContext& c) {
  const Dims* dims = c.shape(0);
  if (dims == nullptr) return ok();
  c.set(0, c.dtype(0), *dims);
  Dims statistics = *dims;
  if (!statistics.empty()) statistics.back() = 1;
  c.set(1, DType::Float32, statistics);
  c.set(2, DType::Float32, statistics);
  c.set(3, c.dtype(0), *dims);
  return ok();
}

Status quantize_shape(RuleContext& c) {
  DType type = c.dtype(2);
  if (type == DType::Undefined) type = DType(std::clamp<std::int64_t>(c.int_of("output_dtype", 2), 0, 26));
  if (type == DType::Undefined) type = DType::UInt8;
  return copy_shape(c, 0, type);
}

Status dequantize_shape(RuleContext& c) {
  DType type = c.dtype(1);
  if (c.int_of("output_dtype", 0) > 0) type = DType(std::clamp<std::int64_t>(c.int_of("output_dtype", 1), 1, 26));
  return copy_shape(c, 0, type);
}

Status dynamic_quantize_shape(RuleContext& c) {
  FORERUN_CHECK(copy_shape(c, 0, DType::UInt8));
  c.set(1, DType::Float32, {});
  c.set(2, DType::UInt8, {});
  return ok();
}

Status scalar_shape(RuleContext& c) {
  c.set(0, c.dtype(0), {});
  return ok();
}

}  // namespace forerun
