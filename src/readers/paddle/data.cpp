// Operators that move data.
#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "readers/paddle/operators.hpp"

namespace forerun::paddle {
namespace {

constexpr std::size_t kMaxParts = 10'000;

std::vector<std::int64_t> axes_of(const Call& c) {
  std::vector<std::int64_t> axes = c.ints_of("AxesTensor", "axes");
  if (axes.empty()) axes = c.ints("axis");
  return axes;
}

std::int64_t axis_of(const Call& c, std::string_view operand, std::string_view name, std::int64_t fallback) {
  const std::vector<std::int64_t> listed = c.ints_of(operand, name);
  return listed.empty() ? fallback : listed[0];
}

}  // namespace

Status reshape(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Reshape, {x, c.shape_value("Shape", "ShapeTensor", "shape")});
  return ok();
}

Status flatten(Call& c) {
  const ValueId x = c.in("X");
  const auto dims = c.dims(x);
  const bool old = c.attribute("start_axis") == nullptr && c.attribute("axis") != nullptr;
  if (x == kNoValue) return c.unknown();
  if (old) {
    c.emit(OpKind::Flatten, {x}, {{"axis", c.integer("axis", 1)}});
    return ok();
  }
  if (!dims) return c.unknown();
  const auto rank = std::int64_t(dims->size());
  std::int64_t start = c.integer("start_axis", 1), stop = c.integer("stop_axis", -1);
  if (start < 0) start += rank;
  if (stop < 0) stop += rank;
  if (rank == 0 || start < 0 || stop < start || stop >= rank) {
    c.emit(OpKind::Reshape, {x, c.w.constant({-1})});
    return ok();
  }
  std::vector<std::int64_t> shape(std::size_t(start), 0);
  const std::span<const std::int64_t> joined(dims->data() + start, std::size_t(stop - start + 1));
  const std::span<const std::int64_t> rest(dims->data() + stop + 1, std::size_t(rank - stop - 1));
  const auto is_free = [](std::int64_t d) { return d < 0; };
  if (std::none_of(rest.begin(), rest.end(), is_free)) {
    shape.push_back(-1);
    shape.insert(shape.end(), rest.begin(), rest.end());
  } else if (std::none_of(joined.begin(), joined.end(), is_free) &&
             std::count_if(rest.begin(), rest.end(), is_free) == 1) {
    shape.push_back(checked_product(joined));
    for (const std::int64_t d : rest) shape.push_back(d < 0 ? -1 : d);
  } else {
    const ValueId whole = c.w.op(OpKind::Shape, {x}, {}, DType::Int64);
    const auto part = [&](std::int64_t from, std::int64_t to) {
      return c.w.op(OpKind::Slice, {whole, c.w.constant({from}), c.w.constant({to}), c.w.constant({0})});
    };
    std::vector<ValueId> parts;
    if (start > 0) parts.push_back(part(0, start));
    parts.push_back(c.w.constant({-1}));
    parts.push_back(part(stop + 1, rank));
    c.emit(OpKind::Reshape, {x, c.w.op(OpKind::Concat, std::move(parts), {{"axis", std::int64_t{0}}})});
    return ok();
  }
  c.emit(OpKind::Reshape, {x, c.w.constant(shape)});
  return ok();
}

Status transpose(Call& c) {
  std::vector<std::int64_t> perm = c.ints("perm");
  if (perm.empty()) perm = c.ints("axis");
  c.emit(OpKind::Transpose, {c.in("X")}, {{"perm", std::move(perm)}});
  return ok();
}

Status squeeze(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  std::vector<std::int64_t> axes = axes_of(c);
  // Axes that are not 1 stay.
  if (const auto dims = c.dims(x)) {
    const auto rank = std::int64_t(dims->size());
    std::erase_if(axes, [&](std::int64_t a) {
      const std::int64_t at = a < 0 ? a + rank : a;
      return at < 0 || at >= rank || (*dims)[std::size_t(at)] > 1;
    });
    if (axes.empty() && !axes_of(c).empty()) return identity(c);
  }
  if (axes.empty()) {
    c.emit(OpKind::Squeeze, {x});
  } else {
    c.emit(OpKind::Squeeze, {x, c.w.constant(axes)});
  }
  return ok();
}

Status unsqueeze(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Unsqueeze, {x, c.w.constant(axes_of(c))});
  return ok();
}

Status concat(Call& c) {
  const std::vector<ValueId> parts = c.all("X");
  if (parts.empty()) return c.unknown();
  c.emit(OpKind::Concat, parts, {{"axis", axis_of(c, "AxisTensor", "axis", 0)}});
  return ok();
}

Status split(Call& c) {
  const ValueId x = c.in("X");
  const std::vector<ValueId> parts = c.outs(0);
  if (x == kNoValue || parts.empty() || parts.size() > kMaxParts) return c.unknown();
  const std::int64_t axis = axis_of(c, "AxisTensor", "axis", 0);
  std::vector<std::int64_t> sizes = c.ints_of("Sections", "sections");
  const auto dims = c.dims(x);
  if (const auto open = std::find(sizes.begin(), sizes.end(), -1); open != sizes.end() && dims) {
    const std::int64_t at = axis < 0 ? axis + std::int64_t(dims->size()) : axis;
    std::int64_t left = at >= 0 && at < std::int64_t(dims->size()) ? (*dims)[std::size_t(at)] : -1;
    for (const std::int64_t size : sizes) left -= size > 0 ? size : 0;
    if (left < 0) return c.unknown();
    *open = left;
  }
  std::vector<ValueId> inputs = {x};
  if (sizes.size() == parts.size()) inputs.push_back(c.w.constant(sizes));
  c.w.add(OpKind::Split, std::move(inputs), parts, {{"axis", axis}, {"num_outputs", std::int64_t(parts.size())}});
  return ok();
}

Status stack(Call& c) {
  const std::vector<ValueId> parts = c.all("X");
  if (parts.empty() || parts.size() > kMaxParts) return c.unknown();
  std::int64_t axis = c.integer("axis", 0);
  if (const auto rank = c.rank(parts[0]); axis < 0 && rank) axis += std::int64_t(*rank) + 1;
  std::vector<ValueId> wide;
  for (const ValueId part : parts) wide.push_back(c.w.op(OpKind::Unsqueeze, {part, c.w.constant({axis})}));
  c.emit(OpKind::Concat, std::move(wide), {{"axis", axis}});
  return ok();
}

Status unbind(Call& c) {
  const ValueId x = c.in("X");
  std::vector<ValueId> parts = c.outs(0);
  const std::int64_t axis = c.integer("axis", 0);
  if (x == kNoValue || parts.empty() || parts.size() > kMaxParts) return c.unknown();
  std::vector<ValueId> thin;
  for (std::size_t i = 0; i < parts.size(); ++i) thin.push_back(c.w.new_value("", c.dtype(x)));
  if (!c.w.has_room()) return ok();
  c.w.add(OpKind::Split, {x}, thin, {{"axis", axis}, {"num_outputs", std::int64_t(parts.size())}});
  for (std::size_t i = 0; i < parts.size(); ++i) c.w.add(OpKind::Squeeze, {thin[i], c.w.constant({axis})}, {parts[i]});
  return ok();
}

// x[:, 0] is a Gather with a scalar, as PyTorch's exporter writes it: a view.
Status slice(Call& c) {
  const ValueId x = c.has("Input") ? c.in("Input") : c.in("X");
  if (x == kNoValue) return c.unknown();
  const std::vector<std::int64_t> axes = c.ints("axes");
  const std::vector<std::int64_t> drop = c.ints("decrease_axis");
  const auto known = c.contents("StartsTensor");
  const std::vector<std::int64_t> starts = known ? *known : c.ints("starts");
  const bool fixed = c.all("StartsTensorList").empty() && (known || !c.has("StartsTensor"));
  const bool positive_step = c.attribute("strides") == nullptr;
  if (fixed && positive_step && axes.size() == 1 && drop == axes && starts.size() == 1) {
    c.emit(OpKind::Gather, {x, c.w.scalar(starts[0])}, {{"axis", axes[0]}});
    return ok();
  }
  const ValueId first = c.shape_value("StartsTensor", "StartsTensorList", "starts");
  const ValueId end = c.shape_value("EndsTensor", "EndsTensorList", "ends");
  std::vector<ValueId> inputs = {x, first, end, c.w.constant(axes)};
  if (c.has("StridesTensor") || !c.ints("strides").empty())
    inputs.push_back(c.shape_value("StridesTensor", "", "strides"));
  if (drop.empty()) {
    c.emit(OpKind::Slice, std::move(inputs));
  } else {
    const ValueId part = c.w.op(OpKind::Slice, std::move(inputs));
    c.emit(OpKind::Squeeze, {part, c.w.constant(drop)});
  }
  return ok();
}

Status expand(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  if (c.has("Shape") && !c.contents("Shape")) {
    c.emit(OpKind::Expand, {x, c.shape_value("Shape", "", "")});
    return ok();
  }
  if (!c.all("expand_shapes_tensor").empty()) {
    c.emit(OpKind::Expand, {x, c.shape_value("", "expand_shapes_tensor", "")});
    return ok();
  }
  std::vector<std::int64_t> shape = c.ints_of("Shape", "shape");
  for (std::int64_t& d : shape) d = d < 0 ? 1 : d;  // -1 keeps the dimension, as 1 does in ONNX
  c.emit(OpKind::Expand, {x, c.w.constant(shape)});
  return ok();
}

Status expand_as(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  if (c.has("Y")) {
    c.emit(OpKind::Expand, {x, c.w.op(OpKind::Shape, {c.in("Y")}, {}, DType::Int64)});
  } else {
    std::vector<std::int64_t> shape = c.ints("target_shape");
    for (std::int64_t& d : shape) d = d < 0 ? 1 : d;
    c.emit(OpKind::Expand, {x, c.w.constant(shape)});
  }
  return ok();
}

Status tile(Call& c) {
  ValueId x = c.in("X");
  const auto rank = c.rank(x);
  std::vector<std::int64_t> repeats = c.ints_of("RepeatTimes", "repeat_times");
  if (repeats.empty()) repeats = c.ints("expand_times");
  if (!rank || (c.has("RepeatTimes") && !c.contents("RepeatTimes")) || !c.all("repeat_times_tensor").empty()) {
    if (x == kNoValue) return c.unknown();
    c.emit(OpKind::Tile, {x, c.shape_value("RepeatTimes", "repeat_times_tensor", "repeat_times")});
    return ok();
  }
  while (repeats.size() < *rank) repeats.insert(repeats.begin(), 1);
  if (repeats.size() > *rank)
    x = c.w.op(OpKind::Unsqueeze, {x, c.w.constant(iota(0, std::int64_t(repeats.size() - *rank)))});
  c.emit(OpKind::Tile, {x, c.w.constant(repeats)});
  return ok();
}

// pad lists begin and end of every dimension; pad3d and pad2d those of the last ones, innermost first.
Status pad(Call& c) {
  const ValueId x = c.in("X");
  const auto rank = c.rank(x);
  std::vector<std::int64_t> given = c.ints_of("Paddings", "paddings");
  if (!rank || given.empty()) return c.unknown();
  std::vector<std::int64_t> pads(2 * *rank, 0);
  const std::string format = c.text("data_format", "NCHW");
  const bool last = format == "NHWC" || format == "NDHWC" || format == "NLC";
  if (c.op.type == "pad") {
    if (given.size() != 2 * *rank) return c.unknown();
    for (std::size_t i = 0; i < *rank; ++i) {
      pads[i] = given[2 * i];
      pads[i + *rank] = given[2 * i + 1];
    }
  } else {
    const std::size_t count = given.size() / 2;
    if (count > *rank) return c.unknown();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t axis = *rank - 1 - i - (last && *rank > count ? 1 : 0);
      const std::size_t at = c.op.type == "pad2d" ? count - 1 - i : i;  // pad2d: top, bottom, left, right
      if (axis >= *rank) return c.unknown();
      pads[axis] = given[2 * at];
      pads[axis + *rank] = given[2 * at + 1];
    }
  }
  c.emit(OpKind::Pad, {x, c.w.constant(pads)}, {{"mode", c.text("mode", "constant")}});
  return ok();
}

Status gather(Call& c) {
  ValueId index = c.in("Index");
  const auto dims = c.dims(index);
  if (dims && dims->size() == 2 && dims->back() == 1) index = c.w.op(OpKind::Squeeze, {index, c.w.constant({1})});
  const std::int64_t fallback = c.op.type == "index_select" ? c.integer("dim", 0) : 0;
  c.emit(OpKind::Gather, {c.in("X"), index}, {{"axis", axis_of(c, "Axis", "axis", fallback)}});
  return ok();
}

Status gather_nd(Call& c) {
  c.emit(OpKind::GatherND, {c.in("X"), c.in("Index")});
  return ok();
}

Status gather_elements(Call& c) {
  c.emit(OpKind::GatherElements, {c.in("Input"), c.in("Index")}, {{"axis", c.integer("Axis", c.integer("axis", 0))}});
  return ok();
}

Status scatter(Call& c) {
  c.emit(c.kind(), {c.in("X"), c.in("Index"), c.in("Updates")});
  return ok();
}

Status one_hot(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  const std::vector<std::int64_t> depth = c.ints_of("depth_tensor", "depth");
  if (depth.empty()) return c.unknown();
  c.emit(OpKind::OneHot, {x, c.w.scalar(depth[0]), c.w.reals({0, 1})}, {{"axis", std::int64_t{-1}}});
  return ok();
}

Status triangle(Call& c) {
  const bool lower = c.op.type == "tril" || c.integer("lower", 0) != 0;
  c.emit(OpKind::Trilu, {c.in("X"), c.w.scalar(c.integer("diagonal", 0))}, {{"upper", std::int64_t{!lower}}});
  return ok();
}

Status flip(Call& c) {
  const ValueId x = c.in("X");
  const std::vector<std::int64_t> axes = c.ints("axis");
  if (x == kNoValue || axes.empty()) return c.unknown();
  const std::vector<std::int64_t> starts(axes.size(), -1), steps(axes.size(), -1);
  const std::vector<std::int64_t> ends(axes.size(), std::numeric_limits<std::int64_t>::min() + 1);
  c.emit(OpKind::Slice, {x, c.w.constant(starts), c.w.constant(ends), c.w.constant(axes), c.w.constant(steps)});
  return ok();
}

// Two slices and a concatenation for each axis.
Status roll(Call& c) {
  const ValueId x = c.in("X");
  const std::vector<std::int64_t> shifts = c.ints_of("ShiftsTensor", "shifts");
  const std::vector<std::int64_t> axes = c.ints("axis");
  if (x == kNoValue || shifts.empty() || shifts.size() != axes.size() || axes.size() > 16) return c.unknown();
  ValueId now = x;
  const ValueId end = c.w.constant({std::numeric_limits<std::int64_t>::max()});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ValueId axis = c.w.constant({axes[i]});
    const ValueId cut = c.w.constant({-shifts[i]});
    const ValueId tail = c.w.op(OpKind::Slice, {now, cut, end, axis});
    const ValueId head = c.w.op(OpKind::Slice, {now, c.w.constant({0}), cut, axis});
    if (i + 1 == axes.size()) {
      c.emit(OpKind::Concat, {tail, head}, {{"axis", axes[i]}});
    } else {
      now = c.w.op(OpKind::Concat, {tail, head}, {{"axis", axes[i]}});
    }
  }
  return ok();
}

Status meshgrid(Call& c) {
  const std::vector<ValueId> parts = c.all("X");
  const std::vector<ValueId> results = c.outs(0);
  if (parts.empty() || parts.size() != results.size() || parts.size() > 8) return c.unknown();
  std::vector<ValueId> sizes;
  for (const ValueId part : parts) sizes.push_back(c.w.op(OpKind::Shape, {part}, {}, DType::Int64));
  const ValueId shape = c.w.op(OpKind::Concat, std::move(sizes), {{"axis", std::int64_t{0}}});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::int64_t> axes = iota(0, std::int64_t(parts.size()));
    axes.erase(axes.begin() + std::ptrdiff_t(i));
    const ValueId wide = axes.empty() ? parts[i] : c.w.op(OpKind::Unsqueeze, {parts[i], c.w.constant(axes)});
    c.w.add(OpKind::Expand, {wide, shape}, {results[i]});
  }
  return ok();
}

Status non_zero(Call& c) {
  const ValueId x = c.in("Condition");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Transpose, {c.w.op(OpKind::NonZero, {x}, {}, DType::Int64)},
         {{"perm", std::vector<std::int64_t>{1, 0}}});
  return ok();
}

}  // namespace forerun::paddle
