// Operators that name the same elements differently, or move them.
#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

std::vector<std::int64_t> identity_order(std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

void view(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed() && c.has("dtype") && c.row().name == "view" && !c.has("size"))
    return c.give(c.node(OpKind::BitCast, {x}, {{"to", std::int64_t(c.dtype("dtype").value_or(DType::Float32))}}));
  const auto shape = c.integers(c.has("shape") ? "shape" : "size");
  if (!c.failed()) c.give(c.reshape(x, shape));
}

void view_like(Call& c) {
  const ValueId x = c.tensor("self"), other = c.tensor("other");
  if (c.failed()) return;
  const Dims shape = c.dims(other);
  if (!c.failed()) c.give(c.reshape(x, shape));
}

void flatten(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  if (c.failed() || shape.empty()) return c.give(c.reshape(x, {-1}));
  const std::size_t first = c.axis(c.integer("start_dim", 0), shape.size());
  const std::size_t last = c.axis(c.integer("end_dim", -1), shape.size());
  if (c.failed() || last < first) return c.fail("the dimensions are in the wrong order");
  if (first == 1 && last + 1 == shape.size()) return c.give(c.node(OpKind::Flatten, {x}, {{"axis", std::int64_t{1}}}));
  Dims result(shape.begin(), shape.begin() + std::ptrdiff_t(first));
  result.push_back(checked_product(std::span(shape).subspan(first, last - first + 1)));
  result.insert(result.end(), shape.begin() + std::ptrdiff_t(last) + 1, shape.end());
  c.give(c.reshape(x, result));
}

void unflatten(Call& c) {
  const ValueId x = c.tensor("self");
  const auto sizes = c.integers("sizes");
  if (c.failed()) return;
  Dims shape = c.dims(x);
  const std::size_t at = c.axis(c.integer("dim"), shape.size());
  if (c.failed() || shape.empty()) return c.fail("the input is a scalar");
  shape.erase(shape.begin() + std::ptrdiff_t(at));
  shape.insert(shape.begin() + std::ptrdiff_t(at), sizes.begin(), sizes.end());
  c.give(c.reshape(x, shape));
}

// Dimensions that are not 1 stay.
void squeeze(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  std::vector<std::int64_t> axes;
  if (c.has("dim")) {
    for (const std::int64_t axis : c.integers("dim")) {
      const std::size_t at = c.axis(axis, shape.size());
      if (at < shape.size() && shape[at] == 1) axes.push_back(std::int64_t(at));
    }
  } else {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) axes.push_back(std::int64_t(i));
    }
  }
  if (!c.failed()) c.give(axes.empty() ? x : c.squeeze(x, axes));
}

void unsqueeze(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const std::int64_t at = std::int64_t(c.axis(c.integer("dim"), c.rank(x) + 1));
  if (!c.failed()) c.give(c.unsqueeze(x, {at}));
}

void transpose(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  const std::size_t a = c.axis(c.integer("dim0"), rank), b = c.axis(c.integer("dim1"), rank);
  if (c.failed() || a == b || rank < 2) return c.give(x);
  if (rank == 2) return c.give(c.turned(x));
  auto order = identity_order(rank);
  std::swap(order[a], order[b]);
  c.give(c.transpose(x, order));
}

// t, T, mT, adjoint: the last two dimensions.
void matrix_transpose(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  if (rank < 2) return c.give(x);
  if (rank == 2) return c.give(c.turned(x));
  auto order = identity_order(rank);
  if (c.row().name == "numpy_T") {
    std::reverse(order.begin(), order.end());
  } else {
    std::swap(order[rank - 1], order[rank - 2]);
  }
  c.give(c.transpose(x, order));
}

void permute(Call& c) {
  const ValueId x = c.tensor("self");
  auto order = c.integers("dims");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  for (std::int64_t& axis : order) axis = std::int64_t(c.axis(axis, rank));
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (c.failed() || sorted != identity_order(rank)) return c.fail("'dims' is no permutation");
  if (order == sorted) return c.give(x);
  c.give(rank == 2 ? c.turned(x) : c.transpose(x, order));
}

void move_dimension(Call& c) {
  const ValueId x = c.tensor("self");
  const auto from = c.integers("source"), to = c.integers("destination");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  if (from.size() != to.size() || from.size() > rank) return c.fail("'source' and 'destination' differ in length");
  std::vector<std::int64_t> order(rank, -1);
  std::vector<bool> moved(rank, false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t source = c.axis(from[i], rank);
    order[c.axis(to[i], rank)] = std::int64_t(source);
    moved[source] = true;
  }
  std::size_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (next < rank && moved[next]) ++next;
    if (next >= rank) return c.fail("a dimension is named twice");
    axis = std::int64_t(next++);
  }
  if (!c.failed()) c.give(c.transpose(x, order));
}

void expand(Call& c) {
  const ValueId x = c.tensor("self");
  auto shape = c.integers(c.has("size") ? "size" : "sizes");
  if (c.failed()) return;
  const Dims from = c.dims(x);
  if (shape.size() < from.size()) return c.fail("fewer dimensions than the input has");
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t& wanted = shape[shape.size() - 1 - i];
    if (wanted == -1) wanted = from[from.size() - 1 - i];
  }
  if (c.failed()) return;
  c.give(Dims(shape) == from ? x : c.node(OpKind::Expand, {x, c.ints(shape)}));
}

void expand_like(Call& c) {
  const ValueId x = c.tensor("self"), other = c.tensor("other");
  if (c.failed()) return;
  const Dims shape = c.dims(other);
  if (!c.failed()) c.give(c.node(OpKind::Expand, {x, c.ints(shape)}));
}

void repeat(Call& c) {
  ValueId x = c.tensor("self");
  auto repeats = c.integers(c.row().name == "tile" ? "dims" : "repeats");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  if (repeats.size() > 32) return c.fail("too many dimensions");
  if (repeats.size() > rank) x = c.unsqueeze(x, identity_order(repeats.size() - rank));
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  c.give(c.node(OpKind::Tile, {x, c.ints(repeats)}));
}

// Each element several times: expanded behind a new dimension, then joined with it.
void repeat_interleave(Call& c) {
  ValueId x = c.tensor("self");
  const std::int64_t times = c.integer("repeats");
  if (c.failed()) return;
  if (!c.has("dim")) x = c.reshape(x, {-1});
  Dims shape = c.dims(x);
  const std::size_t at = c.axis(c.integer("dim", 0), shape.size());
  if (c.failed() || shape.empty() || times < 0) return c.fail("'repeats' does not fit the input");
  Dims wide = shape;
  wide.insert(wide.begin() + std::ptrdiff_t(at) + 1, times);
  shape[at] = checked_mul(shape[at], times);
  const ValueId expanded = c.node(OpKind::Expand, {c.unsqueeze(x, {std::int64_t(at) + 1}), c.ints(wide)});
  c.give(c.reshape(expanded, shape));
}

void concatenate(Call& c) {
  std::vector<ValueId> inputs = c.tensors("tensors");
  if (c.failed() || inputs.empty()) return c.fail("nothing to concatenate");
  // PyTorch skips empty 1-D tensors.
  const auto is_empty = [&](ValueId id) {
    const Dims* shape = c.writer().shape(id);
    return shape != nullptr && shape->size() == 1 && shape->front() == 0;
  };
  if (inputs.size() > 1 && !std::all_of(inputs.begin(), inputs.end(), is_empty)) std::erase_if(inputs, is_empty);
  const std::int64_t axis = std::int64_t(c.axis(c.integer("dim", 0), c.rank(inputs.front())));
  if (!c.failed()) c.give(inputs.size() == 1 ? inputs.front() : c.node(OpKind::Concat, inputs, {{"axis", axis}}));
}

void stack(Call& c) {
  std::vector<ValueId> inputs = c.tensors("tensors");
  if (c.failed() || inputs.empty()) return c.fail("nothing to stack");
  const std::int64_t axis = std::int64_t(c.axis(c.integer("dim", 0), c.rank(inputs.front()) + 1));
  if (c.failed()) return;
  for (ValueId& id : inputs) id = c.unsqueeze(id, {axis});
  c.give(inputs.size() == 1 ? inputs.front() : c.node(OpKind::Concat, inputs, {{"axis", axis}}));
}

namespace {

constexpr std::int64_t kMaxParts = 65536;

void split_into(Call& c, ValueId x, std::size_t axis, std::vector<std::int64_t> sizes) {
  if (sizes.empty() || std::int64_t(sizes.size()) > kMaxParts) return c.fail("too many parts");
  const std::size_t parts = sizes.size();
  c.give_list(c.nodes(OpKind::Split, {x, c.ints(std::move(sizes))}, {{"axis", std::int64_t(axis)}}, parts));
}

// Parts of `size`, the last one smaller.
void split_every(Call& c, ValueId x, std::size_t axis, std::int64_t size) {
  const std::int64_t whole = c.dims(x)[axis];
  if (size <= 0 || whole / size > kMaxParts) return c.fail("the size of the parts does not fit");
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = whole; left > 0; left -= size) sizes.push_back(std::min(size, left));
  if (sizes.empty()) sizes.push_back(0);
  split_into(c, x, axis, std::move(sizes));
}

}  // namespace

void split(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const std::size_t axis = c.axis(c.integer("dim", 0), c.rank(x));
  const std::string_view sizes = c.has("split_sizes") ? "split_sizes" : "split_size";
  const auto wanted = c.integers(sizes);
  if (c.failed()) return;
  if (c.find(sizes) != nullptr && c.find(sizes)->as<List>() != nullptr) return split_into(c, x, axis, wanted);
  if (wanted.size() != 1) return c.fail("the size of the parts is missing");
  split_every(c, x, axis, wanted.front());
}

void chunk(Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t chunks = c.integer("chunks");
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const std::size_t axis = c.axis(c.integer("dim", 0), c.rank(x));
  if (c.failed() || chunks <= 0) return c.fail("'chunks' is not positive");
  split_every(c, x, axis, std::max<std::int64_t>(1, ceil_div(c.dims(x)[axis], chunks)));
}

void unbind(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const auto axis = std::int64_t(c.axis(c.integer("dim", 0), c.rank(x)));
  if (c.failed() || c.dims(x)[std::size_t(axis)] > kMaxParts) return c.fail("too many parts");
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < c.dims(x)[std::size_t(axis)]; ++i)
    parts.push_back(c.node(OpKind::Gather, {x, c.scalar(double(i), DType::Int64)}, {{"axis", axis}}));
  c.give_list(parts);
}

// flip and roll: the same elements in another order.
void moved(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::ReverseSequence, {x}, {}, c.row().name == "flip" ? "Flip" : "Roll"));
}

// Pairs from the last dimension on, begin and end.
void pad(Call& c) {
  const ValueId x = c.tensor("self");
  const auto given = c.integers(c.has("pad") ? "pad" : "padding");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  if (given.size() % 2 != 0 || given.size() > 2 * rank) return c.fail("'pad' does not fit the input");
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < given.size() / 2; ++i) {
    pads[rank - 1 - i] = given[2 * i];
    pads[2 * rank - 1 - i] = given[2 * i + 1];
  }
  const std::string_view name = c.row().name;
  std::string mode = c.text("mode", name.starts_with("reflection")    ? "reflect"
                                    : name.starts_with("replication") ? "replicate"
                                                                      : "constant");
  if (mode == "replicate") mode = "edge";
  if (mode == "circular") mode = "wrap";
  if (!c.failed()) c.give(c.node(OpKind::Pad, {x, c.ints(pads)}, {{"mode", mode}}));
}

void pixel_shuffle(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::DepthToSpace, {x}, {{"blocksize", c.integer("upscale_factor", 1)}}));
}

void pixel_unshuffle(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(OpKind::SpaceToDepth, {x}, {{"blocksize", c.integer("downscale_factor", 1)}}));
}

// im2col: every window of an image as a column.
void unfold_image(Call& c) {
  const ValueId x = c.tensor("self");
  const auto kernel = c.integers("kernel_size", 2, 1), dilation = c.integers("dilation", 2, 1);
  const auto padding = c.integers("padding", 2, 0), stride = c.integers("stride", 2, 1);
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  if (shape.size() != 4) return c.fail("the input is no image");
  std::int64_t windows = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    if (kernel[i] <= 0 || stride[i] <= 0 || dilation[i] <= 0 || kernel[i] > (1 << 24) || dilation[i] > (1 << 24) ||
        padding[i] < 0 || padding[i] > (1 << 24))
      return c.fail("the window does not fit");
    const std::int64_t span = shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
    if (span < 0) return c.fail("the window is larger than the image");
    windows = checked_mul(windows, span / stride[i] + 1);
  }
  const ValueId y = c.node(OpKind::UnfoldTensor, {x}, {}, "Unfold");
  c.writer().value(y).dtype = c.dtype_of(x);
  c.writer().value(y).has_shape = true;
  c.writer().value(y).dims = {shape[0], checked_mul(shape[1], checked_mul(kernel[0], kernel[1])), windows};
  c.give(y);
}

void fold_image(Call& c) {
  const ValueId x = c.tensor("self");
  const auto size = c.integers("output_size", 2, 1), kernel = c.integers("kernel_size", 2, 1);
  if (!c.failed()) c.give(c.node(OpKind::Col2Im, {x, c.ints(size), c.ints(kernel)}));
}

// Tensor.unfold: windows of one dimension as a new last one.
void unfold_windows(Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t size = c.integer("size"), step = c.integer("step");
  if (c.failed()) return;
  Dims shape = c.dims(x);
  const std::size_t at = c.axis(c.integer("dimension"), shape.size());
  if (c.failed() || shape.empty() || size < 0 || step <= 0 || size > shape[at])
    return c.fail("the window does not fit");
  shape[at] = (shape[at] - size) / step + 1;
  shape.push_back(size);
  const ValueId y = c.node(OpKind::UnfoldTensor, {x}, {}, "Unfold");
  c.writer().value(y).dtype = c.dtype_of(x);
  c.writer().value(y).has_shape = true;
  c.writer().value(y).dims = shape;
  c.give(y);
}

}  // namespace forerun::pytorch
