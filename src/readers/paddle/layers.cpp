// Convolutions, pooling, normalisations, resizing and embeddings.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/paddle/operators.hpp"

namespace forerun::paddle {
namespace {

bool is_channels_last(const Call& c) {
  std::string format = c.text("data_format", "");
  if (format.empty()) format = c.text("data_layout", "NCHW");
  return format == "NHWC" || format == "NDHWC" || format == "NLC";
}

// Paddle lists a padding for each dimension, or begin and end of each; older programs list all four or five dimensions.
std::vector<std::int64_t> onnx_pads(const std::vector<std::int64_t>& given, std::size_t spatial) {
  std::vector<std::int64_t> pads(2 * spatial, 0);
  if (given.size() == spatial) {
    for (std::size_t i = 0; i < spatial; ++i) pads[i] = pads[i + spatial] = given[i];
  } else if (given.size() == 2 * spatial) {
    for (std::size_t i = 0; i < spatial; ++i) {
      pads[i] = given[2 * i];
      pads[i + spatial] = given[2 * i + 1];
    }
  } else if (given.size() == 2 * (spatial + 2)) {
    for (std::size_t i = 0; i < spatial; ++i) {
      pads[i] = given[2 * (i + 2)];
      pads[i + spatial] = given[2 * (i + 2) + 1];
    }
  } else if (given.size() == 1) {
    std::fill(pads.begin(), pads.end(), given[0]);
  }
  return pads;
}

std::vector<std::int64_t> spread(std::vector<std::int64_t> values, std::size_t spatial) {
  if (values.size() == 1) values.resize(spatial, values[0]);
  if (values.size() != spatial) values.assign(spatial, 1);
  return values;
}

void add_padding(const Call& c, std::size_t spatial, std::vector<Attribute>& attributes) {
  const std::string mode = c.text("padding_algorithm", "EXPLICIT");
  if (mode == "SAME") {
    attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
  } else if (mode == "VALID") {
    attributes.push_back({"auto_pad", std::string("VALID")});
  } else {
    attributes.push_back({"pads", onnx_pads(c.ints("paddings"), spatial)});
  }
}

}  // namespace

Status conv(Call& c) {
  const ValueId x = c.in("Input"), weight = c.in("Filter");
  const auto dims = c.dims(weight);
  if (x == kNoValue || !dims || dims->size() < 3) return c.unknown();
  const std::size_t spatial = dims->size() - 2;
  const bool last = is_channels_last(c);
  std::int64_t groups = c.integer("groups", 1);
  if (const auto own = c.dims(x); c.op.type == "depthwise_conv2d" && own && own->size() > 1 && groups == 1) {
    const std::int64_t channels = last ? own->back() : (*own)[1];
    if ((*dims)[1] == 1 && channels > 0) groups = channels;
  }
  std::vector<Attribute> attributes = {{"kernel_shape", std::vector<std::int64_t>(dims->begin() + 2, dims->end())},
                                       {"strides", spread(c.ints("strides"), spatial)},
                                       {"dilations", spread(c.ints("dilations"), spatial)},
                                       {"group", groups}};
  add_padding(c, spatial, attributes);
  c.emit_layout(OpKind::Conv, {x, weight, c.in("Bias")}, std::move(attributes), last);
  return ok();
}

Status conv_transpose(Call& c) {
  const ValueId x = c.in("Input"), weight = c.in("Filter");
  const auto dims = c.dims(weight);
  if (x == kNoValue || !dims || dims->size() < 3) return c.unknown();
  const std::size_t spatial = dims->size() - 2;
  std::vector<Attribute> attributes = {{"kernel_shape", std::vector<std::int64_t>(dims->begin() + 2, dims->end())},
                                       {"strides", spread(c.ints("strides"), spatial)},
                                       {"dilations", spread(c.ints("dilations"), spatial)},
                                       {"group", c.integer("groups", 1)}};
  add_padding(c, spatial, attributes);
  const std::vector<std::int64_t> size = c.ints_of("OutputSize", "output_size");
  const std::vector<std::int64_t> extra = c.ints("output_padding");
  if (size.size() == spatial) {
    attributes.push_back({"output_shape", size});
  } else if (extra.size() == spatial) {
    attributes.push_back({"output_padding", extra});
  }
  c.emit_layout(OpKind::ConvTranspose, {x, weight, c.in("Bias")}, std::move(attributes), is_channels_last(c));
  return ok();
}

Status deformable_conv(Call& c) {
  const ValueId x = c.in("Input"), weight = c.in("Filter");
  const auto dims = c.dims(weight);
  if (x == kNoValue || !dims || dims->size() != 4) return c.unknown();
  c.emit(OpKind::DeformConv, {x, weight, c.in("Offset"), kNoValue, c.in("Mask")},
         {{"kernel_shape", std::vector<std::int64_t>(dims->begin() + 2, dims->end())},
          {"strides", spread(c.ints("strides"), 2)},
          {"dilations", spread(c.ints("dilations"), 2)},
          {"group", c.integer("groups", 1)},
          {"offset_group", c.integer("deformable_groups", 1)},
          {"pads", onnx_pads(c.ints("paddings"), 2)}});
  return ok();
}

// Adaptive pooling: the window that divides the input evenly, or else the widest that keeps the number of windows.
Status pool(Call& c) {
  const ValueId x = c.in("X");
  const auto dims = c.dims(x);
  if (!dims || dims->size() < 3) return c.unknown();
  const std::size_t spatial = dims->size() - 2;
  const bool last = is_channels_last(c);
  const bool maximum = c.text("pooling_type", "max") == "max";
  std::vector<std::int64_t> kernel = spread(c.ints_of("KernelSize", "ksize"), spatial);
  if (c.attribute("ksize") == nullptr && c.attribute("kernel_size") != nullptr)
    kernel = spread(c.ints("kernel_size"), spatial);
  const bool adaptive = c.integer("adaptive", 0) != 0;
  const bool ones = std::all_of(kernel.begin(), kernel.end(), [](std::int64_t k) { return k == 1; });
  if (c.integer("global_pooling", 0) != 0 || (adaptive && ones)) {
    c.emit_layout(maximum ? OpKind::GlobalMaxPool : OpKind::GlobalAveragePool, {x}, {}, last);
    return ok();
  }
  std::vector<std::int64_t> strides = spread(c.ints("strides"), spatial);
  std::vector<Attribute> attributes;
  if (adaptive) {
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t size = (*dims)[i + (last ? 1 : 2)];
      if (size <= 0 || kernel[i] <= 0 || kernel[i] > size) return c.unknown();
      strides[i] = size / kernel[i];
      kernel[i] = size - (kernel[i] - 1) * strides[i];
    }
  } else {
    add_padding(c, spatial, attributes);
  }
  attributes.push_back({"kernel_shape", kernel});
  attributes.push_back({"strides", strides});
  attributes.push_back({"ceil_mode", c.integer("ceil_mode", 0)});
  if (!maximum) attributes.push_back({"count_include_pad", std::int64_t{c.integer("exclusive", 1) == 0}});
  c.emit_layout(maximum ? OpKind::MaxPool : OpKind::AveragePool, {x}, std::move(attributes), last);
  return ok();
}

Status max_pool_with_index(Call& c) {
  const ValueId x = c.in("X");
  const auto dims = c.dims(x);
  if (!dims || dims->size() < 3) return c.unknown();
  const std::size_t spatial = dims->size() - 2;
  std::vector<std::int64_t> kernel = spread(c.ints("ksize").empty() ? c.ints("kernel_size") : c.ints("ksize"), spatial);
  std::vector<std::int64_t> strides = spread(c.ints("strides"), spatial);
  std::vector<Attribute> attributes;
  if (c.integer("global_pooling", 0) != 0) kernel.assign(dims->begin() + 2, dims->end());
  if (c.integer("adaptive", 0) != 0) {
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t size = (*dims)[i + 2];
      if (size <= 0 || kernel[i] <= 0 || kernel[i] > size) return c.unknown();
      strides[i] = size / kernel[i];
      kernel[i] = size - (kernel[i] - 1) * strides[i];
    }
  } else {
    add_padding(c, spatial, attributes);
  }
  attributes.push_back({"kernel_shape", kernel});
  attributes.push_back({"strides", strides});
  attributes.push_back({"ceil_mode", c.integer("ceil_mode", 0)});
  std::vector<ValueId> outputs = {c.out(0)};
  if (c.is_used(1)) outputs.push_back(c.out(1));
  c.w.add(OpKind::MaxPool, {x}, std::move(outputs), std::move(attributes));
  return ok();
}

Status batch_norm(Call& c) {
  c.emit_layout(OpKind::BatchNormalization, {c.in("X"), c.in("Scale"), c.in("Bias"), c.in("Mean"), c.in("Variance")},
                {{"epsilon", c.real("epsilon", 1e-5)}}, is_channels_last(c));
  return ok();
}

Status layer_norm(Call& c) {
  c.emit(OpKind::LayerNormalization, {c.in("X"), c.in("Scale"), c.in("Bias")},
         {{"axis", c.integer("begin_norm_axis", 1)}, {"epsilon", c.real("epsilon", 1e-5)}});
  return ok();
}

Status group_norm(Call& c) {
  c.emit_layout(OpKind::GroupNormalization, {c.in("X"), c.in("Scale"), c.in("Bias")},
                {{"num_groups", c.integer("groups", 1)}, {"epsilon", c.real("epsilon", 1e-5)}}, is_channels_last(c));
  return ok();
}

Status instance_norm(Call& c) {
  c.emit(OpKind::InstanceNormalization, {c.in("X"), c.in("Scale"), c.in("Bias")},
         {{"epsilon", c.real("epsilon", 1e-5)}});
  return ok();
}

Status rms_norm(Call& c) {
  c.emit(OpKind::RMSNormalization, {c.in("X"), c.in("Scale")},
         {{"axis", c.integer("begin_norm_axis", -1)}, {"epsilon", c.real("epsilon", 1e-5)}});
  return ok();
}

Status local_response_norm(Call& c) {
  c.emit(OpKind::LRN, {c.in("X")},
         {{"size", c.integer("n", 5)}, {"alpha", c.real("alpha", 1e-4)}, {"beta", c.real("beta", 0.75)}});
  return ok();
}

Status interpolate(Call& c) {
  const ValueId x = c.in("X");
  const auto size = c.rank(x);
  if (!size || *size < 3) return c.unknown();
  const std::size_t spatial = *size - 2;
  const bool last = is_channels_last(c);
  const std::string method = c.text("interp_method", "nearest");
  const std::string mode = method == "nearest" ? "nearest" : method == "bicubic" ? "cubic" : "linear";
  std::vector<Attribute> attributes = {
      {"mode", mode},
      {"coordinate_transformation_mode", std::string(c.integer("align_corners", 0) != 0 ? "align_corners"
                                                     : method == "nearest"              ? "asymmetric"
                                                                                        : "half_pixel")},
      {"axes", iota(2, std::int64_t(*size))}};
  std::vector<std::int64_t> wanted;
  const std::string_view names[3] = {"out_d", "out_h", "out_w"};
  for (std::size_t i = 0; i < spatial && spatial <= 3; ++i) wanted.push_back(c.integer(names[3 - spatial + i], -1));
  ValueId sizes = kNoValue, scales = kNoValue;
  if (c.has("OutSize") || !c.all("SizeTensor").empty()) {
    sizes = c.shape_value("OutSize", "SizeTensor", "");
  } else if (std::vector<double> factors = c.reals("scale"); !factors.empty() && factors[0] > 0) {
    factors.resize(spatial, factors[0]);
    scales = c.w.reals(factors);
  } else if (const auto known = c.contents("Scale"); known || c.has("Scale")) {
    const ValueId given = c.in("Scale");
    const auto& literal = c.w.value(given).literal;
    if (!literal) return c.unknown();
    std::vector<double> listed = literal->reals;
    for (const std::int64_t one : literal->ints) listed.push_back(double(one));
    if (listed.empty()) return c.unknown();
    listed.resize(spatial, listed[0]);
    scales = c.w.reals(listed);
  } else if (!wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [](std::int64_t d) { return d > 0; })) {
    sizes = c.w.constant(wanted);
  } else {
    return c.unknown();
  }
  c.emit_layout(OpKind::Resize, {x, kNoValue, scales, sizes}, std::move(attributes), last);
  return ok();
}

Status embedding(Call& c) {
  ValueId ids = c.in("Ids");
  const auto dims = c.dims(ids);
  // The first version of the operator has ids [.., 1].
  if (c.op.type == "lookup_table" && dims && !dims->empty() && dims->back() == 1)
    ids = c.w.op(OpKind::Squeeze, {ids, c.w.constant({-1})});
  c.emit(OpKind::Gather, {c.in("W"), ids}, {{"axis", std::int64_t{0}}});
  return ok();
}

Status pixel_shuffle(Call& c) {
  const bool up = c.kind() == OpKind::DepthToSpace;
  std::vector<Attribute> attributes = {
      {"blocksize", c.integer(up ? "upscale_factor" : "downscale_factor", c.integer("blocksize", 1))}};
  if (up) attributes.push_back({"mode", std::string("CRD")});
  c.emit_layout(c.kind(), {c.in("X")}, std::move(attributes), is_channels_last(c));
  return ok();
}

Status grid_sample(Call& c) {
  c.emit(OpKind::GridSample, {c.in("X"), c.in("Grid")},
         {{"mode", c.text("mode", "bilinear")}, {"align_corners", c.integer("align_corners", 1)}});
  return ok();
}

Status roi_align(Call& c) {
  c.emit(OpKind::RoiAlign, {c.in("X"), c.in("ROIs"), c.in("RoisNum")},
         {{"output_height", c.integer("pooled_height", 1)},
          {"output_width", c.integer("pooled_width", 1)},
          {"spatial_scale", c.real("spatial_scale", 1)},
          {"sampling_ratio", c.integer("sampling_ratio", -1)}});
  return ok();
}

}  // namespace forerun::paddle
