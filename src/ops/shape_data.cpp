// Shape rules of operators that rearrange data: transpose, slice, concatenate, pad, resize, ….
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

bool all_non_negative(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0 && d < kSizeLimit; });
}

}  // namespace

Status transpose_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto perm = c.ints_of("perm");
  Dims result(x->rbegin(), x->rend());
  if (!perm.empty()) {
    if (perm.size() != x->size()) return c.fail("the permutation has another rank than the input");
    for (std::size_t i = 0; i < perm.size(); ++i) {
      const auto axis = normalize_axis(perm[i], x->size());
      if (!axis) return c.fail("the permutation names no axis");
      result[i] = (*x)[std::size_t(*axis)];
    }
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status concat_shape(RuleContext& c) {
  Dims result;
  std::optional<std::int64_t> axis;
  bool first = true;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Dims* dims = c.shape(i);
    if (dims == nullptr) return ok();
    if (first) {
      first = false;
      result = *dims;
      axis = normalize_axis(c.int_of("axis", 1), dims->size());
      if (!axis) return c.fail("axis out of range");
      continue;
    }
    if (dims->size() != result.size()) return c.fail("inputs have different ranks");
    for (std::size_t d = 0; d < result.size(); ++d) {
      if (std::int64_t(d) == *axis) {
        result[d] = checked_add(result[d], (*dims)[d]);
      } else if (result[d] != (*dims)[d]) {
        return c.fail("inputs differ in dimension " + std::to_string(d) + ": " + std::to_string(result[d]) + " and " +
                      std::to_string((*dims)[d]));
      }
    }
  }
  c.set(0, c.dtype(0), std::move(result));
  if (c.output_count() > 1) c.set(1, DType::Int64, {std::int64_t(c.input_count())});  // ConcatTraining
  return ok();
}

Status split_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto axis = normalize_axis(c.int_of("axis", 0), x->size());
  if (!axis) return c.fail("axis out of range");
  const std::int64_t size = (*x)[std::size_t(*axis)];
  const auto parts = std::int64_t(c.output_count());
  const auto sizes = c.ints_of("split", 1);
  if (!sizes && c.input(1) != nullptr) return ok();
  if (sizes && std::int64_t(sizes->size()) < parts) return c.fail("fewer sizes than outputs");
  const std::int64_t chunk = parts == 0 ? 0 : ceil_div(size, parts);
  std::int64_t left = size;
  for (std::int64_t i = 0; i < parts; ++i) {
    Dims result = *x;
    const std::int64_t part = sizes ? (*sizes)[std::size_t(i)] : std::min(chunk, left);
    if (part < 0 || part > left) return c.fail("the sizes exceed the axis");
    result[std::size_t(*axis)] = part;
    left -= part;
    c.set(std::size_t(i), c.dtype(0), std::move(result));
  }
  return ok();
}

Status slice_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto starts = c.ints_of("starts", 1);
  const auto ends = c.ints_of("ends", 2);
  if (x == nullptr || !starts || !ends) return ok();
  auto axes = c.ints_of("axes", 3);
  auto steps = c.ints_of("steps", 4);
  if ((!axes && c.input(3) != nullptr) || (!steps && c.input(4) != nullptr)) return ok();
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(std::int64_t(i));
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (starts->size() != ends->size() || axes->size() != starts->size() || steps->size() != starts->size()) {
    return c.fail("starts, ends, axes and steps differ in length");
  }
  Dims result = *x;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = normalize_axis((*axes)[i], x->size());
    if (!axis) return c.fail("axis out of range");
    const std::int64_t size = (*x)[std::size_t(*axis)];
    const std::int64_t step = (*steps)[i];
    if (step == 0) return c.fail("a step of 0");
    std::int64_t start = (*starts)[i] < 0 ? std::max<std::int64_t>((*starts)[i], -size - 1) + size : (*starts)[i];
    std::int64_t end = (*ends)[i] < 0 ? std::max<std::int64_t>((*ends)[i], -size - 1) + size : (*ends)[i];
    std::int64_t count = 0;
    if (step > 0) {
      start = std::clamp<std::int64_t>(start, 0, size);
      end = std::clamp<std::int64_t>(end, 0, size);
      count = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
      start = std::clamp<std::int64_t>(start, -1, size - 1);
      end = std::clamp<std::int64_t>(end, -1, size - 1);
      const std::int64_t stride = step < -kSizeLimit ? kSizeLimit : -step;
      count = start > end ? (start - end - 1) / stride + 1 : 0;
    }
    result[std::size_t(*axis)] = count;
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status expand_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto* wanted = c.ints(1);
  if (x == nullptr || wanted == nullptr) return ok();
  if (!all_non_negative(*wanted)) return c.fail("negative dimension");
  auto result = broadcast(*x, *wanted);
  if (!result) return c.fail("the input does not broadcast to the wanted shape");
  c.set(0, c.dtype(0), std::move(*result));
  return ok();
}

Status tile_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto* repeats = c.ints(1);
  if (x == nullptr || repeats == nullptr) return ok();
  if (repeats->size() != x->size() || !all_non_negative(*repeats)) return c.fail("repeats do not fit the input");
  Dims result = *x;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = checked_mul(result[i], (*repeats)[i]);
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status pad_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  auto pads = c.ints_of("pads", 1);
  if (!pads) pads = c.ints_of("paddings", 1);
  if (x == nullptr || !pads) return ok();
  const std::size_t rank = x->size();
  std::vector<std::int64_t> axes;
  if (const auto* given = c.ints(3)) {
    axes = *given;
  } else {
    if (c.input(3) != nullptr) return ok();
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(std::int64_t(i));
  }
  if (pads->size() != 2 * axes.size()) return c.fail("pads do not fit the input's rank");
  Dims result = *x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = normalize_axis(axes[i], rank);
    const std::int64_t begin = (*pads)[i];
    const std::int64_t end = (*pads)[i + axes.size()];
    if (!axis || std::abs(begin) > kSizeLimit / 4 || std::abs(end) > kSizeLimit / 4) return c.fail("absurd padding");
    result[std::size_t(*axis)] = std::min(result[std::size_t(*axis)], kSizeLimit / 4) + begin + end;
  }
  if (!all_non_negative(result)) return c.fail("negative dimension");
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

// One scale for all resized axes: the smallest or largest of those requested; halves are rounded up.
static void keep_aspect_ratio(bool not_larger, const Dims& x, const std::vector<std::int64_t>& axes, Dims& result) {
  std::optional<double> scale;
  for (const std::int64_t axis : axes) {
    const auto at = std::size_t(*normalize_axis(axis, x.size()));
    if (x[at] <= 0) continue;
    const double wanted = double(result[at]) / double(x[at]);
    scale = !scale ? wanted : not_larger ? std::min(*scale, wanted) : std::max(*scale, wanted);
  }
  for (const std::int64_t axis : axes) {
    const auto at = std::size_t(*normalize_axis(axis, x.size()));
    const double size = std::floor(scale.value_or(1.0) * double(x[at]) + 0.5);
    if (size >= 0 && size < 1e15) result[at] = std::int64_t(size);
  }
}

Status resize_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const bool resize = c.node().kind == OpKind::Resize;
  // Upsample and Resize-10 take scales as input 1 (Upsample-7 as an attribute); Resize-11 takes roi, scales, sizes.
  const std::size_t scales_at = resize && c.input_count() > 2 ? 2 : 1;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < x->size(); ++i) axes.push_back(std::int64_t(i));
  if (const auto given = c.ints_of("axes"); !given.empty()) axes.assign(given.begin(), given.end());
  Dims result = *x;
  const auto* sizes = resize ? c.ints(3) : nullptr;
  if (sizes != nullptr && !sizes->empty()) {
    if (sizes->size() != axes.size() || !all_non_negative(*sizes)) return c.fail("sizes do not fit the input");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = normalize_axis(axes[i], x->size());
      if (!axis) return c.fail("axis out of range");
      result[std::size_t(*axis)] = (*sizes)[i];
    }
    const std::string_view policy = text_attribute(c.node(), "keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") keep_aspect_ratio(policy == "not_larger", *x, axes, result);
  } else {
    const Attribute* attribute = find_attribute(c.node(), "scales");
    const auto* listed = attribute != nullptr ? std::get_if<std::vector<double>>(&attribute->value) : nullptr;
    const Literal* literal = c.literal(scales_at);
    const std::vector<double>* scales = listed != nullptr ? listed : (literal != nullptr ? &literal->reals : nullptr);
    // Upsample-1 gave two factors for images.
    const double height = real_attribute(c.node(), "height_scale", 0);
    const double width = real_attribute(c.node(), "width_scale", 0);
    const std::vector<double> two = {1, 1, height, width};
    if (scales == nullptr && height > 0 && width > 0 && x->size() == 4) scales = &two;
    if (scales == nullptr || scales->size() != axes.size()) return ok();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = normalize_axis(axes[i], x->size());
      if (!axis) return c.fail("axis out of range");
      const double size = std::floor(double((*x)[std::size_t(*axis)]) * (*scales)[i]);
      if (!(size >= 0 && size < 1e15)) return c.fail("absurd scale");
      result[std::size_t(*axis)] = std::int64_t(size);
    }
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status shape_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto rank = std::int64_t(x->size());
  const auto clip = [rank](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const std::int64_t start = clip(std::max(c.int_of("start", 0), -rank));
  const std::int64_t end = clip(std::max(c.int_of("end", rank), -rank));
  c.set(0, DType::Int64, {std::max<std::int64_t>(0, end - start)});
  return ok();
}

Status size_shape(RuleContext& c) {
  c.set(0, DType::Int64, {});
  return ok();
}

Status constant_shape(RuleContext&) { return ok(); }  // the reader has set the output's type, shape and contents

Status constant_of_shape_shape(RuleContext& c) {
  const auto* wanted = c.ints(0);
  if (wanted == nullptr) return ok();
  if (!all_non_negative(*wanted)) return c.fail("negative dimension");
  const DType type = DType(std::clamp<std::int64_t>(c.int_of("value_dtype", 1), 1, std::int64_t(DType::Count) - 1));
  c.set(0, type, *wanted);
  return ok();
}

Status range_shape(RuleContext& c) {
  const Literal* start = c.literal(0);
  const Literal* limit = c.literal(1);
  const Literal* delta = c.literal(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) return ok();
  const auto number = [](const Literal& l) -> double {
    return !l.ints.empty() ? double(l.ints[0]) : !l.reals.empty() ? l.reals[0] : 0.0;
  };
  const double step = number(*delta);
  if (step == 0) return c.fail("a step of 0");
  const double count = std::ceil((number(*limit) - number(*start)) / step);
  if (!(count < 1e15)) return c.fail("absurd length");
  c.set(0, c.dtype(0), {std::max<std::int64_t>(0, std::int64_t(count))});
  return ok();
}

Status depth_to_space_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const std::int64_t block = c.int_of("blocksize", 0);
  if (x == nullptr || x->size() != 4) return ok();
  if (block <= 0 || block > 4096 || (*x)[1] % (block * block) != 0)
    return c.fail("channels do not divide by the block");
  c.set(0, c.dtype(0), {(*x)[0], (*x)[1] / (block * block), checked_mul((*x)[2], block), checked_mul((*x)[3], block)});
  return ok();
}

Status space_to_depth_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const std::int64_t block = c.int_of("blocksize", 0);
  if (x == nullptr || x->size() != 4) return ok();
  if (block <= 0 || block > 4096) return c.fail("the block size must be positive");
  c.set(0, c.dtype(0), {(*x)[0], checked_mul((*x)[1], block * block), (*x)[2] / block, (*x)[3] / block});
  return ok();
}

}  // namespace forerun
