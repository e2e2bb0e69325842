// Normalisations.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

// "axis" from 0, sorted; Keras gives a number or a list.
std::optional<Dims> axes_of(const Layer& c, std::int64_t fallback) {
  const auto rank = std::int64_t(c.inputs[0].rank());
  Dims axes = c.ints("axis");
  if (axes.empty()) axes = {fallback};
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool has_input(const Layer& c) { return !c.inputs.empty() && c.inputs[0].has_shape && c.inputs[0].rank() >= 1; }

// The values of the shape's dimensions at `axes`; nullopt when one is free.
std::optional<Dims> sizes_at(const Tensor& x, const Dims& axes) {
  Dims sizes;
  for (const std::int64_t axis : axes) {
    sizes.push_back(x.shape[std::size_t(axis)]);
    if (sizes.back() < 0) return std::nullopt;
  }
  return sizes;
}

// A weight where the layer has one, else a constant of ones or zeros that is no parameter.
ValueId scale_or_shift(Layer& c, std::string_view flag, std::string_view name, const Dims& dims) {
  return c.weight(name, dims, c.flag(flag, true) ? ValueRole::Weight : ValueRole::Constant);
}

}  // namespace

Status batch_norm(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axes = axes_of(c, -1);
  const auto rank = std::int64_t(x.rank());
  if (!axes || axes->size() != 1 || ((*axes)[0] != 1 && (*axes)[0] != rank - 1))
    return c.unknown("it normalises an axis that is not its channels");
  const std::int64_t axis = (*axes)[0], channels = x.shape[std::size_t(axis)];
  FORERUN_CHECK(c.expect(channels > 0, "its input's channels are not known"));
  const bool last = rank > 2 && axis == rank - 1;
  const ValueId id = last ? c.channels_second(x) : c.natural(x);
  const ValueId gamma = scale_or_shift(c, "scale", "gamma", {channels}),
                beta = scale_or_shift(c, "center", "beta", {channels});
  const ValueId mean = c.weight("moving_mean", {channels}), variance = c.weight("moving_variance", {channels});
  const ValueId y =
      c.w.op(OpKind::BatchNormalization, {id, gamma, beta, mean, variance}, {{"epsilon", c.real("epsilon", 1e-3)}});
  c.give(c.made(y, x.shape, last));
  return ok();
}

Status layer_norm(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axes = axes_of(c, -1);
  const auto rank = std::int64_t(x.rank());
  // The last dimensions, in order.
  if (!axes || *axes != iota_dims(rank - std::int64_t(axes->size()), rank))
    return c.unknown("it normalises other axes than the last ones");
  const auto sizes = sizes_at(x, *axes);
  if (!sizes) return c.unknown("the shape of its input is not known");
  const bool rms = c.flag("rms_scaling", false);
  std::vector<ValueId> inputs = {c.natural(x), scale_or_shift(c, "scale", "gamma", *sizes)};
  if (!rms && c.flag("center", true)) inputs.push_back(c.weight("beta", *sizes));
  const ValueId y = c.w.op(rms ? OpKind::RMSNormalization : OpKind::LayerNormalization, std::move(inputs),
                           {{"axis", (*axes)[0]}, {"epsilon", c.real("epsilon", 1e-3)}});
  c.give(c.made(y, x.shape));
  return ok();
}

Status rms_norm(Layer& c) {
  if (!has_input(c) || c.inputs[0].last() <= 0) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const ValueId y = c.w.op(OpKind::RMSNormalization, {c.natural(x), c.weight("scale", {x.last()})},
                           {{"axis", std::int64_t{-1}}, {"epsilon", c.real("epsilon", 1e-6)}});
  c.give(c.made(y, x.shape));
  return ok();
}

Status group_norm(Layer& c) {
  if (!has_input(c) || c.inputs[0].last() <= 0 || c.inputs[0].rank() < 3)
    return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axes = axes_of(c, -1);
  if (!axes || axes->size() != 1 || (*axes)[0] != std::int64_t(x.rank()) - 1)
    return c.unknown("it normalises an axis that is not its channels");
  const std::int64_t groups = c.integer("groups", 32);
  const Dims size = {x.last()};
  const ValueId y = c.w.op(
      OpKind::GroupNormalization,
      {c.channels_second(x), scale_or_shift(c, "scale", "gamma", size), scale_or_shift(c, "center", "beta", size)},
      {{"num_groups", groups == -1 ? x.last() : groups}, {"epsilon", c.real("epsilon", 1e-3)}});
  c.give(c.made(y, x.shape, true));
  return ok();
}

Status unit_norm(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const auto axes = axes_of(c, -1);
  if (!axes || axes->size() != 1) return c.unknown("it normalises several axes");
  const ValueId y =
      c.w.op(OpKind::LpNormalization, {x.id}, {{"axis", Layer::ir_axis(x, (*axes)[0])}, {"p", std::int64_t{2}}});
  c.give(c.made(y, x.shape, x.permuted));
  return ok();
}

// (x - mean) / deviation by channel, with statistics that are stored.
Status normalization(Layer& c) {
  if (!has_input(c)) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  Dims dims;
  if (const Json* axis = c.find("axis"); axis != nullptr && !axis->is_null()) {
    const auto axes = axes_of(c, -1);
    const auto sizes = axes ? sizes_at(x, *axes) : std::nullopt;
    if (!sizes || axes->size() != 1) return c.unknown("the shape of its input is not known");
    const std::int64_t at = Layer::ir_axis(x, (*axes)[0]);
    dims = {(*sizes)[0]};
    for (std::int64_t i = at + 1; i < std::int64_t(x.rank()); ++i) dims.push_back(1);
  }
  const ValueId centred = c.w.op(OpKind::Sub, {x.id, c.weight("mean", dims, ValueRole::Constant)});
  const ValueId y = c.w.op(OpKind::Div, {centred, c.weight("deviation", dims, ValueRole::Constant)});
  c.give(c.made(y, x.shape, x.permuted));
  return ok();
}

// A learned factor for each channel, of keras.applications' ConvNeXt.
Status layer_scale(Layer& c) {
  const std::int64_t width = c.integer("projection_dim", 0);
  if (!has_input(c) || width <= 0) return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  Dims dims = {width};
  if (x.permuted) dims.insert(dims.end(), x.rank() - 2, 1);
  c.give(c.made(c.w.op(OpKind::Mul, {x.id, c.weight("gamma", dims)}), x.shape, x.permuted));
  return ok();
}

Status rescaling(Layer& c) {
  if (c.inputs.empty()) return c.unknown("it has no input");
  const Tensor& x = c.inputs[0];
  ValueId y = x.id;
  if (!is_floating(c.dtype(x))) y = c.w.op(OpKind::Cast, {y}, {{"to", std::int64_t(DType::Float32)}}, DType::Float32);
  y = c.w.op(OpKind::Mul, {y, c.w.real(c.real("scale", 1))});
  const Json* offset = c.find("offset");
  if (offset != nullptr && !(offset->is_number() && offset->get<double>() == 0))
    y = c.w.op(OpKind::Add, {y, c.w.real(c.real("offset", 0))});
  Tensor result = x;
  result.id = y;
  c.give(result);
  return ok();
}

}  // namespace forerun::keras
