// Convolutions, pooling, padding and resizing. A kernel of Keras is [spatial …, in, out]; its dimensions are stated
// here in the IR's order, which costs nothing.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

// What a convolution or a pooling sees of its input, in either data format.
struct Field {
  ValueId id = kNoValue;
  std::size_t spatial = 0;
  std::int64_t channels = kUnknownDim;
  Dims size;  // spatial
  bool permuted = false;
};

std::optional<Field> read_field(Layer& c, std::size_t spatial) {
  if (c.inputs.empty() || !c.inputs[0].has_shape || c.inputs[0].rank() != spatial + 2) return std::nullopt;
  const Tensor& x = c.inputs[0];
  Field field;
  field.spatial = spatial;
  if (c.is_channels_first()) {
    field.id = c.natural(x);
    field.channels = x.shape[1];
    field.size.assign(x.shape.begin() + 2, x.shape.end());
  } else {
    field.id = c.channels_second(x);
    field.channels = x.last();
    field.size.assign(x.shape.begin() + 1, x.shape.end() - 1);
    field.permuted = true;
  }
  return field;
}

Tensor made_field(const Layer& c, ValueId id, std::int64_t batch, std::int64_t channels, const Dims& size) {
  Dims shape = {batch};
  if (c.is_channels_first()) shape.push_back(channels);
  shape.insert(shape.end(), size.begin(), size.end());
  if (!c.is_channels_first()) shape.push_back(channels);
  return c.made(id, std::move(shape), !c.is_channels_first());
}

struct Window {
  Dims kernel, strides, dilations;
  std::string padding;  // "valid", "same", "causal"
};

// Absurd numbers would overflow what is computed from them.
bool is_sane(const Window& window) {
  const auto sane = [](const Dims& values) {
    return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v > 0 && v <= (1 << 24); });
  };
  return sane(window.kernel) && sane(window.strides) && sane(window.dilations);
}

std::int64_t reach_of(const Window& window, std::size_t i) { return (window.kernel[i] - 1) * window.dilations[i] + 1; }

Dims window_output(const Window& window, const Dims& size) {
  Dims result;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] < 0) {
      result.push_back(kUnknownDim);
    } else if (window.padding == "valid") {
      result.push_back(size[i] < reach_of(window, i) ? 0 : (size[i] - reach_of(window, i)) / window.strides[i] + 1);
    } else {
      result.push_back(ceil_div(size[i], window.strides[i]));
    }
  }
  return result;
}

// "same" depends on the input's size unless the stride is 1; a size that is not known yet is left to auto_pad.
void add_pads(const Window& window, const Dims& size, std::vector<Attribute>& attributes) {
  const std::size_t rank = size.size();
  std::vector<std::int64_t> pads(2 * rank, 0);
  if (window.padding == "same") {
    for (std::size_t i = 0; i < rank; ++i) {
      if (size[i] < 0 && window.strides[i] != 1) {
        attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
        return;
      }
      const std::int64_t output = size[i] < 0 ? 0 : ceil_div(size[i], window.strides[i]);
      const std::int64_t total =
          window.strides[i] == 1
              ? reach_of(window, i) - 1
              : std::max<std::int64_t>(0, (output - 1) * window.strides[i] + reach_of(window, i) - size[i]);
      pads[i] = total / 2;
      pads[i + rank] = total - total / 2;
    }
  } else if (window.padding == "causal") {
    for (std::size_t i = 0; i < rank; ++i) pads[i] = reach_of(window, i) - 1;
  }
  attributes.push_back({"pads", std::move(pads)});
}

std::optional<Window> read_window(Layer& c, std::size_t spatial) {
  Window window{c.ints("kernel_size", spatial, 0), c.ints("strides", spatial, 1), c.ints("dilation_rate", spatial, 1),
                c.text("padding", "valid")};
  if (!is_sane(window)) return std::nullopt;
  return window;
}

// One convolution with its bias, without its activation.
ValueId convolve(Layer& c, const Field& x, const Window& window, ValueId weight, ValueId bias, std::int64_t groups) {
  std::vector<Attribute> attributes = {
      {"kernel_shape", window.kernel}, {"strides", window.strides}, {"dilations", window.dilations}, {"group", groups}};
  add_pads(window, x.size, attributes);
  std::vector<ValueId> inputs = {x.id, weight};
  if (bias != kNoValue) inputs.push_back(bias);
  return c.w.op(OpKind::Conv, std::move(inputs), std::move(attributes));
}

Dims kernel_dims(std::int64_t out, std::int64_t in, const Dims& kernel) {
  Dims dims = {out, in};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return dims;
}

Window pointwise(std::size_t spatial) { return {Dims(spatial, 1), Dims(spatial, 1), Dims(spatial, 1), "valid"}; }

void finish(Layer& c, ValueId id, std::int64_t channels, const Dims& size) {
  const Tensor result = made_field(c, id, c.inputs[0].shape[0], channels, size);
  c.give(c.activate(result, c.find("activation")));
}

}  // namespace

Status conv(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const auto window = read_window(c, spatial);
  const std::int64_t filters = c.integer("filters", 0), groups = c.integer("groups", 1);
  if (!x || !window) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(filters > 0 && groups > 0 && x->channels > 0 && x->channels % groups == 0,
                         "its filters do not fit its input's channels"));
  const ValueId weight = c.weight("kernel", kernel_dims(filters, x->channels / groups, window->kernel));
  const ValueId bias = c.flag("use_bias", true) ? c.weight("bias", {filters}) : kNoValue;
  const ValueId y = convolve(c, *x, *window, weight, bias, groups);
  finish(c, y, filters, window_output(*window, x->size));
  return ok();
}

Status depthwise_conv(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const auto window = read_window(c, spatial);
  const std::int64_t multiplier = c.integer("depth_multiplier", 1);
  if (!x || !window) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(multiplier > 0 && x->channels > 0, "its input's channels are not known"));
  const std::int64_t channels = checked_mul(x->channels, multiplier);
  const ValueId weight = c.weight("kernel", kernel_dims(channels, 1, window->kernel));
  const ValueId bias = c.flag("use_bias", true) ? c.weight("bias", {channels}) : kNoValue;
  const ValueId y = convolve(c, *x, *window, weight, bias, x->channels);
  finish(c, y, channels, window_output(*window, x->size));
  return ok();
}

Status separable_conv(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const auto window = read_window(c, spatial);
  const std::int64_t multiplier = c.integer("depth_multiplier", 1), filters = c.integer("filters", 0);
  if (!x || !window) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(multiplier > 0 && filters > 0 && x->channels > 0, "its input's channels are not known"));
  const std::int64_t channels = checked_mul(x->channels, multiplier);
  Field inner = *x;
  const ValueId depthwise = c.weight("depthwise_kernel", kernel_dims(channels, 1, window->kernel));
  inner.id = convolve(c, *x, *window, depthwise, kNoValue, x->channels);
  inner.size = window_output(*window, x->size);
  const ValueId pointwise_weight = c.weight("pointwise_kernel", kernel_dims(filters, channels, Dims(spatial, 1)));
  const ValueId bias = c.flag("use_bias", true) ? c.weight("bias", {filters}) : kNoValue;
  const ValueId y = convolve(c, inner, pointwise(spatial), pointwise_weight, bias, 1);
  finish(c, y, filters, inner.size);
  return ok();
}

Status conv_transpose(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const auto window = read_window(c, spatial);
  const std::int64_t filters = c.integer("filters", 0);
  if (!x || !window) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(filters > 0 && x->channels > 0, "its input's channels are not known"));
  const bool same = window->padding == "same";
  const Dims extra = c.ints("output_padding");
  std::vector<std::int64_t> pads(2 * spatial, 0), output_padding(spatial, 0);
  Dims size;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t reach = reach_of(*window, i), stride = window->strides[i];
    std::int64_t total = 0;
    if (!extra.empty()) {
      total = same ? 2 * (reach / 2) : 0;
      output_padding[i] = std::clamp<std::int64_t>(extra[std::min(i, extra.size() - 1)], 0, stride);
    } else if (same) {
      total = std::max<std::int64_t>(0, reach - stride);
      output_padding[i] = std::max<std::int64_t>(0, stride - reach);
    } else {
      output_padding[i] = std::max<std::int64_t>(0, stride - reach);
    }
    pads[i] = total / 2;
    pads[i + spatial] = total - total / 2;
    size.push_back(x->size[i] < 0
                       ? kUnknownDim
                       : std::max<std::int64_t>(0, checked_mul(std::max<std::int64_t>(x->size[i] - 1, 0), stride) +
                                                       reach - total + output_padding[i]));
  }
  const ValueId weight = c.weight("kernel", kernel_dims(x->channels, filters, window->kernel));
  std::vector<ValueId> inputs = {x->id, weight};
  if (c.flag("use_bias", true)) inputs.push_back(c.weight("bias", {filters}));
  const ValueId y = c.w.op(OpKind::ConvTranspose, std::move(inputs),
                           {{"kernel_shape", window->kernel},
                            {"strides", window->strides},
                            {"dilations", window->dilations},
                            {"group", std::int64_t{1}},
                            {"pads", pads},
                            {"output_padding", output_padding}});
  finish(c, y, filters, size);
  return ok();
}

Status pooling(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  Window window{c.ints("pool_size", spatial, 2), {}, Dims(spatial, 1), c.text("padding", "valid")};
  window.strides =
      c.find("strides") == nullptr || c.find("strides")->is_null() ? window.kernel : c.ints("strides", spatial, 1);
  if (!x || !is_sane(window)) return c.unknown("the shape of its input is not known");
  std::vector<Attribute> attributes = {{"kernel_shape", window.kernel}, {"strides", window.strides}};
  add_pads(window, x->size, attributes);
  const ValueId y = c.w.op(c.row.kind, {x->id}, std::move(attributes));
  c.give(made_field(c, y, c.inputs[0].shape[0], x->channels, window_output(window, x->size)));
  return ok();
}

Status global_pooling(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  if (c.inputs.empty() || !c.inputs[0].has_shape || c.inputs[0].rank() != spatial + 2)
    return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const bool keep = c.flag("keepdims", false);
  const bool average = c.row.kind == OpKind::GlobalAveragePool;
  if (spatial == 1 && !x.permuted && !c.is_channels_first()) {  // over time: channels stay last, no transpose is needed
    const ValueId y = c.w.op(average ? OpKind::ReduceMean : OpKind::ReduceMax, {x.id, c.w.constant({1})},
                             {{"keepdims", std::int64_t{keep}}});
    c.give(c.made(y, keep ? Dims{x.shape[0], 1, x.last()} : Dims{x.shape[0], x.last()}));
    return ok();
  }
  const auto field = read_field(c, spatial);
  const ValueId y = c.w.op(c.row.kind, {field->id});
  if (keep) {
    c.give(made_field(c, y, x.shape[0], field->channels, Dims(spatial, 1)));
  } else {
    const std::string type = c.w.op_type;
    c.w.op_type = "Flatten";
    c.give(c.made(c.w.op(OpKind::Flatten, {y}, {{"axis", std::int64_t{1}}}), {x.shape[0], field->channels}));
    c.w.op_type = type;
  }
  return ok();
}

namespace {

// "padding" and "cropping": a number, one for each dimension, or begin and end of each.
std::optional<Dims> edges(Layer& c, std::string_view key, std::size_t spatial) {
  const Dims given = c.ints(key);
  Dims all;
  if (given.size() == 1) {
    all.assign(2 * spatial, given[0]);
  } else if (given.size() == 2 * spatial) {
    all = given;
  } else if (given.size() == spatial) {
    for (const std::int64_t one : given) all.insert(all.end(), {one, one});
  }
  if (all.size() != 2 * spatial) return std::nullopt;
  for (const std::int64_t one : all) {
    if (one < 0 || one > (1 << 24)) return std::nullopt;
  }
  return all;
}

}  // namespace

Status padding(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const auto by = edges(c, "padding", spatial);
  if (!x || !by) return c.unknown("the shape of its input or its padding is not known");
  std::vector<std::int64_t> pads(2 * (spatial + 2), 0);
  Dims size = x->size;
  for (std::size_t i = 0; i < spatial; ++i) {
    pads[i + 2] = (*by)[2 * i];
    pads[i + 2 + spatial + 2] = (*by)[2 * i + 1];
    if (size[i] >= 0) size[i] += (*by)[2 * i] + (*by)[2 * i + 1];
  }
  const ValueId y = c.w.op(OpKind::Pad, {x->id, c.w.constant(pads)}, {{"mode", std::string("constant")}});
  c.give(made_field(c, y, c.inputs[0].shape[0], x->channels, size));
  return ok();
}

Status cropping(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const auto by = edges(c, "cropping", spatial);
  if (!x || !by) return c.unknown("the shape of its input or its cropping is not known");
  Dims starts, ends, axes, size = x->size;
  for (std::size_t i = 0; i < spatial; ++i) {
    starts.push_back((*by)[2 * i]);
    ends.push_back((*by)[2 * i + 1] == 0 ? std::int64_t{1} << 40 : -(*by)[2 * i + 1]);
    axes.push_back(std::int64_t(i) + 2);
    if (size[i] >= 0) size[i] = std::max<std::int64_t>(0, size[i] - (*by)[2 * i] - (*by)[2 * i + 1]);
  }
  const ValueId y = c.w.op(OpKind::Slice, {x->id, c.w.constant(starts), c.w.constant(ends), c.w.constant(axes)});
  c.give(made_field(c, y, c.inputs[0].shape[0], x->channels, size));
  return ok();
}

Status up_sampling(Layer& c) {
  const auto spatial = std::size_t(c.row.rank);
  const auto x = read_field(c, spatial);
  const Dims factor = c.ints("size", spatial, 2);
  if (!x || std::any_of(factor.begin(), factor.end(), [](std::int64_t f) { return f <= 0 || f > (1 << 20); }))
    return c.unknown("the shape of its input is not known");
  const std::string method = c.text("interpolation", "nearest");
  Dims size;
  for (std::size_t i = 0; i < spatial; ++i) size.push_back(times(x->size[i], factor[i]));
  const ValueId scales = c.w.reals(std::vector<double>(factor.begin(), factor.end()));
  const ValueId y = c.w.op(OpKind::Resize, {x->id, kNoValue, scales},
                           {{"mode", std::string(method == "nearest"   ? "nearest"
                                                 : method == "bicubic" ? "cubic"
                                                                       : "linear")},
                            {"axes", iota_dims(2, std::int64_t(spatial) + 2)}});
  c.give(made_field(c, y, c.inputs[0].shape[0], x->channels, size));
  return ok();
}

Status resizing(Layer& c) {
  const auto x = read_field(c, 2);
  const std::int64_t height = c.integer("height", 0), width = c.integer("width", 0);
  if (!x || height <= 0 || width <= 0) return c.unknown("the shape of its input is not known");
  if (c.w.op_type == "CenterCrop") {
    const ValueId y = c.w.op(OpKind::CenterCropPad, {x->id, c.w.constant({height, width})}, {{"axes", Dims{2, 3}}});
    c.give(made_field(c, y, c.inputs[0].shape[0], x->channels, {height, width}));
    return ok();
  }
  const std::string method = c.text("interpolation", "bilinear");
  const ValueId y = c.w.op(OpKind::Resize, {x->id, kNoValue, kNoValue, c.w.constant({height, width})},
                           {{"mode", std::string(method == "nearest"   ? "nearest"
                                                 : method == "bicubic" ? "cubic"
                                                                       : "linear")},
                            {"axes", Dims{2, 3}}});
  c.give(made_field(c, y, c.inputs[0].shape[0], x->channels, {height, width}));
  return ok();
}

}  // namespace forerun::keras
