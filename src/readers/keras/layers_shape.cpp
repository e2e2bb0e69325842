// Layers that reshape, merge and activate.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

bool has_input(const Layer& c) { return !c.inputs.empty() && c.inputs[0].has_shape && c.inputs[0].rank() >= 1; }

std::int64_t product_of(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product = times(product, size);
  return product;
}

// Inputs in one layout: the IR's where any of them is in it.
std::vector<ValueId> aligned(Layer& c, bool& permuted) {
  permuted = false;
  const auto rank = c.inputs.empty() ? 0 : c.inputs[0].rank();
  bool same_rank = true;
  for (const Tensor& x : c.inputs) {
    permuted = permuted || x.permuted;
    same_rank = same_rank && x.has_shape && x.rank() == rank;
  }
  permuted = permuted && same_rank && rank >= 3;
  std::vector<ValueId> ids;
  for (const Tensor& x : c.inputs) ids.push_back(permuted ? c.channels_second(x) : c.natural(x));
  return ids;
}

Dims broadcast_shape(const std::vector<Tensor>& inputs) {
  Dims result;
  for (const Tensor& x : inputs) {
    while (result.size() < x.rank()) result.insert(result.begin(), 1);
    for (std::size_t i = 0; i < x.rank(); ++i) {
      std::int64_t& size = result[result.size() - x.rank() + i];
      if (size == 1) size = x.shape[i];
      if (size < 0 && x.shape[i] > 1) size = x.shape[i];
    }
  }
  return result;
}

}  // namespace

Status identity(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  Tensor y = c.inputs[0];
  y.id = c.w.op(OpKind::Identity, {y.id});
  c.give(y);
  return ok();
}

Status reshape(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  Dims target = c.ints("target_shape");
  const std::int64_t total = product_of(std::span(x.shape).subspan(1));
  if (const auto open = std::find(target.begin(), target.end(), -1); open != target.end()) {
    std::int64_t known = 1;
    for (const std::int64_t size : target) known = size > 0 ? times(known, size) : known;
    *open = total > 0 && known > 0 ? total / known : kUnknownDim;
  }
  FORERUN_CHECK(c.expect(std::all_of(target.begin(), target.end(), [](std::int64_t d) { return d != 0 && d >= -1; }),
                         "its target shape is not one"));
  Dims shape = {x.shape[0]};
  shape.insert(shape.end(), target.begin(), target.end());
  const auto is_point = [](const Dims& dims) {  // one place: the order of channels and places does not matter
    return std::all_of(dims.begin() + 1, dims.end() - 1, [](std::int64_t d) { return d == 1; });
  };
  const bool from_point = x.permuted && is_point(x.shape);
  const bool to_point = shape.size() >= 4 && is_point(shape);
  std::vector<std::int64_t> wanted = {0};
  if (to_point) {
    wanted.push_back(target.back());
    wanted.insert(wanted.end(), target.size() - 1, 1);
  } else {
    wanted.insert(wanted.end(), target.begin(), target.end());
  }
  const ValueId given = from_point ? x.id : c.natural(x);
  c.give(c.made(c.w.op(OpKind::Reshape, {given, c.w.constant(wanted)}), std::move(shape), to_point));
  return ok();
}

// In either layout the elements are the same and follow each other without a copy; the next layer's weights fit both.
Status flatten(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  if (x.rank() == 1) {
    c.give(c.made(c.w.op(OpKind::Unsqueeze, {x.id, c.w.constant({1})}), {x.shape[0], 1}));
    return ok();
  }
  const std::int64_t total = product_of(std::span(x.shape).subspan(1));
  c.give(c.made(c.w.op(OpKind::Flatten, {x.id}, {{"axis", std::int64_t{1}}}), {x.shape[0], total}));
  return ok();
}

Status permute(Layer& c) {
  const Dims given = c.ints("dims");
  if (!has_input(c) || given.size() + 1 != c.inputs[0].rank()) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  Dims perm = {0}, shape = {x.shape[0]};
  for (const std::int64_t axis : given) {
    FORERUN_CHECK(c.expect(axis >= 1 && axis < std::int64_t(x.rank()), "its permutation names no axis"));
    perm.push_back(axis);
    shape.push_back(x.shape[std::size_t(axis)]);
  }
  // Expressed on the value as it lies: one transpose, or none.
  Dims on_value;
  for (const std::int64_t axis : perm) on_value.push_back(Layer::ir_axis(x, axis));
  const ValueId y = on_value == iota_dims(0, std::int64_t(perm.size())) ? c.w.op(OpKind::Identity, {x.id})
                                                                        : c.e.transposed(x.id, on_value);
  c.give(c.made(y, std::move(shape)));
  return ok();
}

Status repeat_vector(Layer& c) {
  const std::int64_t n = c.integer("n", 0);
  if (!has_input(c) || c.inputs[0].rank() != 2 || n <= 0) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const ValueId wide = c.w.op(OpKind::Unsqueeze, {x.id, c.w.constant({1})});
  c.give(c.made(c.w.op(OpKind::Expand, {wide, c.w.constant({1, n, 1})}), {x.shape[0], n, x.last()}));
  return ok();
}

Status concatenate(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  for (const Tensor& x : c.inputs) {
    if (!x.has_shape || x.rank() != c.inputs[0].rank()) return c.unknown("the shapes of its inputs are not known");
  }
  const auto rank = std::int64_t(c.inputs[0].rank());
  std::int64_t axis = c.integer("axis", -1);
  if (axis < 0) axis += rank;
  FORERUN_CHECK(c.expect(axis >= 0 && axis < rank, "its axis is out of range"));
  bool permuted = false;
  std::vector<ValueId> ids = aligned(c, permuted);
  Dims shape = c.inputs[0].shape;
  std::int64_t total = 0;
  for (const Tensor& x : c.inputs) {
    const std::int64_t size = x.shape[std::size_t(axis)];
    total = total < 0 || size < 0 ? kUnknownDim : checked_add(total, size);
  }
  shape[std::size_t(axis)] = total;
  Tensor y = c.made(kNoValue, std::move(shape), permuted);
  y.id = c.w.op(OpKind::Concat, std::move(ids), {{"axis", Layer::ir_axis(y, axis)}});
  c.give(y);
  return ok();
}

// Add, Multiply, Maximum, … of several inputs: pairwise, as PyTorch code does.
Status merge(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  bool permuted = false;
  const std::vector<ValueId> ids = aligned(c, permuted);
  ValueId y = ids[0];
  if (ids.size() == 1) y = c.w.op(OpKind::Identity, {y});
  for (std::size_t i = 1; i < ids.size(); ++i) y = c.w.op(c.row.kind, {y, ids[i]});
  c.give(c.made(y, broadcast_shape(c.inputs), permuted));
  return ok();
}

Status average(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  bool permuted = false;
  const std::vector<ValueId> ids = aligned(c, permuted);
  ValueId y = ids[0];
  for (std::size_t i = 1; i < ids.size(); ++i) y = c.w.op(OpKind::Add, {y, ids[i]});
  y = c.w.op(OpKind::Mul, {y, c.w.real(1.0 / double(ids.size()))});
  c.give(c.made(y, broadcast_shape(c.inputs), permuted));
  return ok();
}

Status activation(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  const std::string type = c.w.op_type;
  const Tensor y = c.activate(c.inputs[0], c.find("activation"));
  if (y.id == c.inputs[0].id) return identity(c);
  c.w.op_type = type;
  c.give(y);
  return ok();
}

Status relu(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  Tensor y = c.inputs[0];
  double slope = c.real("negative_slope", 0);
  if (const Dims listed = c.ints("negative_slope"); c.find("negative_slope") != nullptr && listed.empty()) slope = 0;
  const Json* maximum = c.find("max_value");
  if (maximum != nullptr && maximum->is_number()) {
    y.id = c.w.op(OpKind::Clip, {y.id, c.w.real(0, c.dtype(y)), c.w.real(maximum->get<double>(), c.dtype(y))});
  } else if (slope != 0) {
    y.id = c.w.op(OpKind::LeakyRelu, {y.id}, {{"alpha", slope}});
  } else {
    y.id = c.w.op(OpKind::Relu, {y.id});
  }
  c.give(y);
  return ok();
}

// LeakyReLU, ELU and ThresholdedReLU: one number each.
Status leaky(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  Tensor y = c.inputs[0];
  y.id = c.w.op(c.row.kind, {y.id}, {{"alpha", c.real("alpha", c.real("negative_slope", c.real("theta", 0.3)))}});
  c.give(y);
  return ok();
}

Status prelu(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const Dims shared = c.ints("shared_axes");
  Dims slope(x.rank() - 1, 1);  // in the value's order, without the batch
  for (std::int64_t axis = 1; axis < std::int64_t(x.rank()); ++axis) {
    const bool is_shared = std::find(shared.begin(), shared.end(), axis) != shared.end();
    const std::int64_t size = is_shared ? 1 : x.shape[std::size_t(axis)];
    if (size < 0) return c.unknown("the shape of its input is not known");
    slope[std::size_t(Layer::ir_axis(x, axis)) - 1] = size;
  }
  c.give(c.made(c.w.op(OpKind::PRelu, {x.id, c.weight("alpha", slope)}), x.shape, x.permuted));
  return ok();
}

Status softmax(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  c.give(c.made(c.w.op(OpKind::Softmax, {x.id}, {{"axis", Layer::ir_axis(x, c.integer("axis", -1))}}), x.shape,
                x.permuted));
  return ok();
}

}  // namespace forerun::keras
