// Shape rules of operators whose result is another view of the same elements: reshape, squeeze, unsqueeze, flatten.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMaxRank = 64;
constexpr std::int64_t kMaxAssumedElements = std::int64_t{1} << 40;

bool all_non_negative(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0 && d < kSizeLimit; });
}

// The operand does not have as many elements as the target: an earlier inference or the file is wrong. Inference
// continues with the target's shape; a shape that the file declares is kept.
Status reshape_mismatch(RuleContext& c, Dims target) {
  const std::string what = "cannot reshape " + text_of(*c.shape(0)) + " (" +
                           std::to_string(checked_product(*c.shape(0))) + " elements) into " + text_of(target) + " (" +
                           std::to_string(checked_product(target)) + ")";
  const Value* declared = c.output(0);
  const bool is_declared = declared != nullptr && declared->has_shape && all_non_negative(declared->dims);
  // A size that no network has is damage: assumed, it would only overflow what follows.
  const bool is_plausible = all_non_negative(target) && checked_product(target) <= kMaxAssumedElements;
  if (is_declared || !is_plausible) return c.fail(what);
  c.set(0, c.dtype(0), std::move(target));
  return c.fail(what + "; the target is assumed");
}

}  // namespace

Status reshape_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto wanted = c.ints_of("shape", 1);
  if (x == nullptr || !wanted) {
    if (x != nullptr && c.input_count() > 1 && c.output(0) != nullptr && c.output(0)->has_shape) {
      // The target is computed at run time; a declared shape with one unknown dimension is enough to infer it.
      Dims dims = c.output(0)->dims;
      if (std::count(dims.begin(), dims.end(), kUnknownDim) == 1) {
        std::int64_t known = 1;
        for (const std::int64_t d : dims) known = d == kUnknownDim ? known : checked_mul(known, d);
        if (known > 0 && checked_product(*x) % known == 0) {
          std::replace(dims.begin(), dims.end(), kUnknownDim, checked_product(*x) / known);
          c.set(0, c.dtype(0), std::move(dims));
        }
      }
    }
    return ok();
  }
  Dims result = *wanted;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && c.int_of("allowzero", 0) == 0) {
      if (i >= x->size()) return c.fail("dimension " + std::to_string(i) + " copies one that is not there");
      result[i] = (*x)[i];
    }
    if (result[i] == -1) {
      if (open >= 0) return c.fail("two open dimensions");
      open = std::ptrdiff_t(i);
    } else if (result[i] < 0) {
      return c.fail("negative dimension");
    } else {
      known = checked_mul(known, result[i]);
    }
  }
  const std::int64_t total = checked_product(*x);
  if (open >= 0) {
    if (known == 0 || total % known != 0) {
      return c.fail("cannot reshape " + text_of(*x) + " (" + std::to_string(total) + " elements) into " +
                    text_of(*wanted) + ": they do not divide by " + std::to_string(known));
    }
    result[std::size_t(open)] = total / known;
  } else if (known != total) {
    return reshape_mismatch(c, std::move(result));
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status squeeze_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto axes = c.ints_of("axes", 1);
  if (!axes && c.input(1) != nullptr) return ok();
  std::vector<bool> drop(x->size(), false);
  for (std::size_t i = 0; i < x->size(); ++i) drop[i] = !axes && (*x)[i] == 1;
  if (axes) {
    for (const std::int64_t axis : *axes) {
      const auto index = normalize_axis(axis, x->size());
      if (!index) return c.fail("axis out of range");
      if ((*x)[std::size_t(*index)] != 1) return c.fail("dimension " + std::to_string(axis) + " is not 1");
      drop[std::size_t(*index)] = true;
    }
  }
  Dims result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!drop[i]) result.push_back((*x)[i]);
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status unsqueeze_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto axes = c.ints_of("axes", 1);
  if (x == nullptr || !axes) return ok();
  if (std::int64_t(x->size() + axes->size()) > kMaxRank) return c.fail("rank above " + std::to_string(kMaxRank));
  Dims result(x->size() + axes->size(), 0);
  for (const std::int64_t axis : *axes) {
    const auto index = normalize_axis(axis, result.size());
    if (!index) return c.fail("axis out of range");
    result[std::size_t(*index)] = 1;
  }
  std::size_t next = 0;
  std::vector<bool> inserted(result.size(), false);
  for (const std::int64_t axis : *axes) inserted[std::size_t(*normalize_axis(axis, result.size()))] = true;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (inserted[i]) continue;
    if (next >= x->size()) return c.fail("an axis is named twice");
    result[i] = (*x)[next++];
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status flatten_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  std::int64_t axis = c.int_of("axis", 1);
  if (axis < 0) axis += std::int64_t(x->size());
  if (axis < 0 || axis > std::int64_t(x->size())) return c.fail("axis out of range");
  const std::span<const std::int64_t> all(*x);
  c.set(0, c.dtype(0),
        {checked_product(all.first(std::size_t(axis))), checked_product(all.subspan(std::size_t(axis)))});
  return ok();
}

}  // namespace forerun
