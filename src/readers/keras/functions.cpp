// Functions that stand among a network's layers: keras.ops in Keras 3, TensorFlow's in Keras 2. Their settings are in
// the configuration or among the arguments.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

const Json* setting(const Layer& c, std::initializer_list<std::string_view> names, std::size_t place) {
  for (const std::string_view name : names) {
    if (const Json* held = c.find(name); held != nullptr && !held->is_null()) return held;
    if (const Json* held = c.value(name, 99); held != nullptr) return held;
  }
  return c.value("", place);
}

Dims ints_of(const Json* json) {
  Dims values;
  if (json == nullptr) return values;
  if (json->is_number_integer()) return {json->get<std::int64_t>()};
  if (!json->is_array() || json->size() > 64) return values;
  for (const Json& one : *json) {
    if (!one.is_number_integer()) return {};
    values.push_back(one.get<std::int64_t>());
  }
  return values;
}

std::int64_t int_of(const Json* json, std::int64_t fallback) {
  return json != nullptr && json->is_number_integer() ? json->get<std::int64_t>() : fallback;
}

bool true_of(const Json* json) { return json != nullptr && json->is_boolean() && json->get<bool>(); }

bool has_input(const Layer& c) { return !c.inputs.empty() && c.inputs[0].has_shape; }

std::optional<std::int64_t> axis_of(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += std::int64_t(rank);
  if (axis < 0 || axis >= std::int64_t(rank)) return std::nullopt;
  return axis;
}

// Tensors and numbers in the order of the arguments, in one layout where all tensors have the same rank.
struct Operands {
  std::vector<ValueId> ids;
  Dims shape;
  bool permuted = false;
};

Operands operands_of(Layer& c) {
  Operands result;
  std::size_t rank = 0;
  bool same = true, any = false;
  for (const Tensor& x : c.inputs) {
    if (rank != 0 && x.rank() != rank && x.rank() != 0) same = false;
    rank = std::max(rank, x.rank());
    any = any || x.permuted;
  }
  result.permuted = any && same && rank >= 3;
  const DType type = c.inputs.empty() ? DType::Float32 : c.dtype(c.inputs[0]);
  for (const Argument& one : c.args) {
    for (const Tensor& x : one.tensors) {
      result.ids.push_back(result.permuted && x.rank() == rank ? c.channels_second(x) : c.natural(x));
      Dims& shape = result.shape;
      while (shape.size() < x.rank()) shape.insert(shape.begin(), 1);
      for (std::size_t i = 0; i < x.rank(); ++i) {
        std::int64_t& size = shape[shape.size() - x.rank() + i];
        if (size == 1 || (size < 0 && x.shape[i] > 1)) size = x.shape[i];
      }
    }
    if (one.tensors.empty() && one.json != nullptr && one.json->is_number())
      result.ids.push_back(c.w.real(one.json->get<double>(), type));
  }
  return result;
}

}  // namespace

Status unary(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  Tensor y = c.inputs[0];
  if (c.row.name == "Rsqrt" || c.row.name == "math.rsqrt") {
    y.id = c.w.op(OpKind::Reciprocal, {c.w.op(OpKind::Sqrt, {y.id})});
  } else if (c.row.kind == OpKind::Clip) {
    y.id = c.w.op(OpKind::Clip, {y.id, c.w.real(0, c.dtype(y)), c.w.real(6, c.dtype(y))});
  } else {
    y.id = c.w.op(c.row.kind, {y.id});
  }
  c.give(y);
  return ok();
}

Status square(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  Tensor y = c.inputs[0];
  y.id = c.w.op(OpKind::Mul, {y.id, y.id});
  c.give(y);
  return ok();
}

Status binary(Layer& c) {
  const Operands all = operands_of(c);
  const std::size_t wanted = c.row.kind == OpKind::Where ? 3 : 2;
  if (all.ids.size() != wanted || c.inputs.empty()) return c.unknown("one of its operands is not known");
  const bool compares = c.row.kind == OpKind::Greater || c.row.kind == OpKind::Less || c.row.kind == OpKind::Equal ||
                        c.row.kind == OpKind::GreaterOrEqual || c.row.kind == OpKind::LessOrEqual;
  const ValueId typed = c.row.kind == OpKind::Where ? all.ids[1] : all.ids[0];
  const ValueId y = c.w.op(c.row.kind, all.ids, {}, compares ? DType::Bool : c.w.value(typed).dtype);
  c.give(c.made(y, all.shape, all.permuted));
  return ok();
}

Status clip(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  Tensor y = c.inputs[0];
  const Json* low = setting(c, {"x_min", "clip_value_min", "min_value"}, 1);
  const Json* high = setting(c, {"x_max", "clip_value_max", "max_value"}, 2);
  const auto bound = [&](const Json* json, double fallback) {
    return c.w.real(json != nullptr && json->is_number() ? json->get<double>() : fallback, c.dtype(y));
  };
  y.id = c.w.op(OpKind::Clip, {y.id, bound(low, 0), bound(high, 6)});
  c.give(y);
  return ok();
}

Status function_softmax(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const std::int64_t axis = Layer::ir_axis(x, int_of(setting(c, {"axis"}, 1), -1));
  c.give(c.made(c.w.op(c.row.kind, {x.id}, {{"axis", axis}}), x.shape, x.permuted));
  return ok();
}

Status reduce(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const Dims given = ints_of(setting(c, {"axis"}, 1));
  const bool keep = true_of(setting(c, {"keepdims", "keep_dims"}, 2));
  const bool arg = c.row.kind == OpKind::ArgMax || c.row.kind == OpKind::ArgMin;
  std::vector<bool> gone(x.rank(), given.empty());
  Dims axes;
  for (const std::int64_t one : given) {
    const auto axis = axis_of(one, x.rank());
    FORERUN_CHECK(c.expect(axis.has_value(), "its axis is out of range"));
    gone[std::size_t(*axis)] = true;
  }
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (gone[i]) axes.push_back(Layer::ir_axis(x, std::int64_t(i)));
  }
  Dims shape;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!gone[i]) {
      shape.push_back(x.shape[i]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  // Without its places, or with ones for them, the result is the same in both layouts.
  const bool stays = x.permuted && keep;
  const bool channels_only = x.permuted && !keep && std::int64_t(shape.size()) >= 2 && !gone.back();
  ValueId from = x.id;
  if (channels_only && shape.size() > 2) {
    from = c.natural(x);
    axes.clear();
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (gone[i]) axes.push_back(std::int64_t(i));
    }
  }
  if (arg) {
    FORERUN_CHECK(c.expect(axes.size() == 1, "it has no axis"));
    c.give(c.made(c.w.op(c.row.kind, {from}, {{"axis", axes[0]}, {"keepdims", std::int64_t{keep}}}, DType::Int64),
                  shape, stays));
    return ok();
  }
  std::vector<ValueId> inputs = {from};
  if (!given.empty()) inputs.push_back(c.w.constant(axes));
  c.give(c.made(c.w.op(c.row.kind, std::move(inputs), {{"keepdims", std::int64_t{keep}}}), std::move(shape), stays));
  return ok();
}

Status function_matmul(Layer& c) {
  if (c.inputs.size() != 2 || c.inputs[0].rank() < 2 || c.inputs[1].rank() < 2)
    return c.unknown("the shapes of its operands are not known");
  ValueId ids[2];
  Dims shapes[2];
  const bool turn[2] = {true_of(setting(c, {"transpose_a", "adj_x"}, 99)),
                        true_of(setting(c, {"transpose_b", "adj_y"}, 99))};
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& x = c.inputs[side];
    ids[side] = c.natural(x);
    shapes[side] = x.shape;
    if (!turn[side]) continue;
    Dims perm = iota_dims(0, std::int64_t(x.rank()));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    std::swap(shapes[side][perm.size() - 1], shapes[side][perm.size() - 2]);
    ids[side] = c.w.op(OpKind::Transpose, {ids[side]}, {{"perm", perm}});
  }
  Dims shape = shapes[0].size() >= shapes[1].size() ? shapes[0] : shapes[1];
  shape[shape.size() - 2] = shapes[0][shapes[0].size() - 2];
  shape.back() = shapes[1].back();
  c.give(c.made(c.w.op(OpKind::MatMul, {ids[0], ids[1]}), std::move(shape)));
  return ok();
}

Status function_reshape(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const Json* given = setting(c, {"newshape", "new_shape", "shape"}, 1);
  Dims target;
  if (given != nullptr && given->is_array()) {
    for (const Json& one : *given) target.push_back(one.is_number_integer() ? one.get<std::int64_t>() : -1);
  } else if (given != nullptr && given->is_number_integer()) {
    target.push_back(given->get<std::int64_t>());
  }
  if (target.empty() || target.size() > 64) return c.unknown("its target shape is computed while it runs");
  Dims shape = target;
  const auto open = std::count(target.begin(), target.end(), -1);
  if (open == 1) {
    std::int64_t total = 1, known = 1;
    for (const std::int64_t size : x.shape) total = times(total, size);
    for (const std::int64_t size : target) known = size > 0 ? times(known, size) : known;
    const auto at = std::find(shape.begin(), shape.end(), -1);
    *at = total > 0 && known > 0 ? total / known : kUnknownDim;
  } else if (open > 1) {  // the batch stays
    if (target[0] == -1) target[0] = 0;
    if (std::count(target.begin(), target.end(), -1) > 1) return c.unknown("its target shape has two free dimensions");
  }
  c.give(c.made(c.w.op(OpKind::Reshape, {c.natural(x), c.w.constant(target)}), std::move(shape)));
  return ok();
}

Status cumulative_sum(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axis = axis_of(int_of(setting(c, {"axis"}, 1), 0), x.rank());
  FORERUN_CHECK(c.expect(axis.has_value(), "its axis is out of range"));
  c.give(c.made(c.w.op(OpKind::CumSum, {x.id, c.w.scalar(Layer::ir_axis(x, *axis))}), x.shape, x.permuted));
  return ok();
}

Status function_transpose(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  Dims perm = ints_of(setting(c, {"axes", "perm"}, 1));
  if (perm.empty()) {
    perm = iota_dims(0, std::int64_t(x.rank()));
    std::reverse(perm.begin(), perm.end());
  }
  FORERUN_CHECK(c.expect(perm.size() == x.rank(), "its permutation has another rank than its input"));
  Dims shape, on_value;
  for (const std::int64_t one : perm) {
    const auto axis = axis_of(one, x.rank());
    FORERUN_CHECK(c.expect(axis.has_value(), "its permutation names no axis"));
    shape.push_back(x.shape[std::size_t(*axis)]);
    on_value.push_back(Layer::ir_axis(x, *axis));
  }
  c.give(c.made(c.e.transposed(x.id, on_value), std::move(shape)));
  return ok();
}

Status function_concat(Layer& c) {
  const Json* given = setting(c, {"axis"}, 1);
  if (given == nullptr || c.find("axis") != nullptr) return concatenate(c);
  // The axis is among the arguments: the layer's builder reads it from a configuration.
  const Json settings = {{"axis", int_of(given, -1)}};
  Layer inner(c.e, c.row, settings, c.args);
  FORERUN_CHECK(concatenate(inner));
  c.outputs = std::move(inner.outputs);
  return ok();
}

Status function_cast(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  const Json* given = setting(c, {"dtype"}, 1);
  Json settings = Json::object();
  if (given != nullptr) settings["dtype"] = *given;
  const DType to = dtype_of(settings);
  Tensor y = c.inputs[0];
  if (to == c.dtype(y)) return identity(c);
  y.id = c.w.op(OpKind::Cast, {y.id}, {{"to", std::int64_t(to)}}, to);
  c.give(y);
  return ok();
}

Status expand_dims(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axis = axis_of(int_of(setting(c, {"axis"}, 1), -1), x.rank() + 1);
  FORERUN_CHECK(c.expect(axis.has_value(), "its axis is out of range"));
  Dims shape = x.shape;
  shape.insert(shape.begin() + *axis, 1);
  c.give(c.made(c.w.op(OpKind::Unsqueeze, {c.natural(x), c.w.constant({*axis})}), std::move(shape)));
  return ok();
}

Status squeeze(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  Dims axes, shape;
  for (const std::int64_t one : ints_of(setting(c, {"axis"}, 1))) {
    const auto axis = axis_of(one, x.rank());
    FORERUN_CHECK(c.expect(axis.has_value(), "its axis is out of range"));
    axes.push_back(*axis);
  }
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), std::int64_t(i)) != axes.end();
    if (!(named || (axes.empty() && x.shape[i] == 1))) shape.push_back(x.shape[i]);
  }
  std::vector<ValueId> inputs = {c.natural(x)};
  if (!axes.empty()) inputs.push_back(c.w.constant(axes));
  c.give(c.made(c.w.op(OpKind::Squeeze, std::move(inputs)), std::move(shape)));
  return ok();
}

Status function_einsum(Layer& c) {
  const Json* given = setting(c, {"subscripts", "equation"}, 0);
  std::string equation = text_of(given);
  std::erase(equation, ' ');
  std::map<char, std::int64_t> sizes;
  std::vector<ValueId> ids;
  std::size_t at = 0;
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos)
    return c.unknown("its equation is not known");
  for (const Tensor& x : c.inputs) {
    const std::string letters = equation.substr(at, std::min(equation.find(',', at), arrow) - at);
    if (!x.has_shape || letters.size() != x.rank()) return c.unknown("its equation does not fit its operands");
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (x.shape[i] > 0 || !sizes.contains(letters[i])) sizes[letters[i]] = x.shape[i];
    }
    at += letters.size() + 1;
    ids.push_back(c.natural(x));
  }
  Dims shape;
  for (const char letter : equation.substr(arrow + 2))
    shape.push_back(sizes.contains(letter) ? sizes[letter] : kUnknownDim);
  if (ids.empty()) return c.unknown("it has no operands");
  c.give(c.made(c.w.op(OpKind::Einsum, std::move(ids), {{"equation", equation}}), std::move(shape)));
  return ok();
}

Status function_stack(Layer& c) {
  if (!has_input(c)) return c.unknown("the shapes of its inputs are not known");
  const auto axis = axis_of(int_of(setting(c, {"axis"}, 1), 0), c.inputs[0].rank() + 1);
  FORERUN_CHECK(c.expect(axis.has_value(), "its axis is out of range"));
  std::vector<ValueId> wide;
  for (const Tensor& x : c.inputs) wide.push_back(c.w.op(OpKind::Unsqueeze, {c.natural(x), c.w.constant({*axis})}));
  Dims shape = c.inputs[0].shape;
  shape.insert(shape.begin() + *axis, std::int64_t(c.inputs.size()));
  c.give(c.made(c.w.op(OpKind::Concat, std::move(wide), {{"axis", *axis}}), std::move(shape)));
  return ok();
}

Status function_split(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axis = axis_of(int_of(setting(c, {"axis"}, 2), 0), x.rank());
  const Json* given = setting(c, {"indices_or_sections", "num_or_size_splits"}, 1);
  FORERUN_CHECK(c.expect(axis.has_value(), "its axis is out of range"));
  const std::int64_t size = x.shape[std::size_t(*axis)];
  Dims sizes;
  if (given != nullptr && given->is_number_integer() && size > 0) {
    const std::int64_t parts = given->get<std::int64_t>();
    if (parts > 0 && parts <= 10'000 && size % parts == 0) sizes.assign(std::size_t(parts), size / parts);
  } else if (given != nullptr && given->is_array() && size > 0) {
    const Dims listed = ints_of(given);
    if (c.find("indices_or_sections") != nullptr) {  // where to cut
      std::int64_t from = 0;
      for (const std::int64_t at : listed) {
        sizes.push_back(at - from);
        from = at;
      }
      sizes.push_back(size - from);
    } else {
      sizes = listed;
    }
  }
  if (sizes.empty() || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s < 0; }))
    return c.unknown("how it splits is not known");
  std::vector<ValueId> parts;
  for (const std::int64_t part : sizes) {
    Dims shape = x.shape;
    shape[std::size_t(*axis)] = part;
    parts.push_back(c.w.new_value("", c.dtype(x)));
    c.give(c.made(parts.back(), std::move(shape)));
  }
  if (!c.w.has_room()) return ok();
  c.w.add(OpKind::Split, {c.natural(x), c.w.constant(sizes)}, std::move(parts),
          {{"axis", *axis}, {"num_outputs", std::int64_t(sizes.size())}});
  return ok();
}

}  // namespace forerun::keras
