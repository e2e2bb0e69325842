// Convolutions, pooling and what else works on images: channels first.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {
namespace {

struct Window {
  Ints strides, dilations, kernel;
  bool is_same = false;
  Ints explicit_pads;  // begins, then ends, of the space
  bool is_valid = true;
};

// Of the space alone, from a list over all dimensions in the order of data_format.
Ints space_of(const Ints& all, std::size_t rank, bool is_nchw) {
  if (all.size() == rank) return all;
  if (all.size() != rank + 2) return Ints(rank, 1);
  const std::ptrdiff_t from = is_nchw ? 2 : 1;
  return Ints(all.begin() + from, all.begin() + from + std::ptrdiff_t(rank));
}

Window read_window(const Call& call, std::size_t rank) {
  Window window;
  if (const Attribute* stride = call.attribute("stride_h"); stride != nullptr) {  // TensorFlow Lite
    window.strides = {call.integer("stride_h", 1), call.integer("stride_w", 1)};
    window.dilations = {call.integer("dilation_h", 1), call.integer("dilation_w", 1)};
    window.kernel = {call.integer("filter_h", 0), call.integer("filter_w", 0)};
    if (rank == 3) {
      window.strides.insert(window.strides.begin(), call.integer("stride_d", 1));
      window.dilations.insert(window.dilations.begin(), call.integer("dilation_d", 1));
    }
    window.is_same = call.integer("padding") == 0;
    return window;
  }
  const bool nchw = call.is_nchw();
  window.strides = space_of(call.ints("strides"), rank, nchw);
  window.dilations = space_of(call.ints("dilations"), rank, nchw);
  window.kernel = space_of(call.ints("ksize"), rank, nchw);
  const std::string_view padding = call.text("padding", "VALID");
  window.is_same = padding == "SAME" || padding == "SAME_UPPER";
  const Ints pairs = call.ints("explicit_paddings");
  if (padding == "EXPLICIT" && pairs.size() == 2 * (rank + 2)) {
    const std::size_t from = nchw ? 2 : 1;
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t i = 0; i < rank; ++i) window.explicit_pads.push_back(pairs[2 * (from + i) + side]);
    }
  }
  return window;
}

// What SAME means for an input of these sizes; the sizes of the space. Also for transposed convolutions, where `space`
// is that of the result.
Ints same_pads(const Window& window, std::span<const std::int64_t> space) {
  const std::size_t rank = space.size();
  Ints pads(2 * rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    constexpr std::int64_t kMost = 1 << 24;
    const std::int64_t stride = std::clamp<std::int64_t>(window.strides[i], 1, kMost);
    const std::int64_t reach = (std::clamp<std::int64_t>(window.kernel[i], 1, kMost) - 1) *
                                   std::clamp<std::int64_t>(window.dilations[i], 1, kMost) +
                               1;
    const std::int64_t size = std::clamp<std::int64_t>(space[i], 0, kMaxDim);
    const std::int64_t total = std::max<std::int64_t>(0, (ceil_div(size, stride) - 1) * stride + reach - size);
    pads[i] = total / 2;
    pads[i + rank] = total - total / 2;
  }
  return pads;
}

// PyTorch pads both sides alike; what is left over is padded before it.
void add_padding(Call& call, const Window& window, ValueId x, Attributes& attributes) {
  const std::size_t rank = window.strides.size();
  if (!window.explicit_pads.empty()) attributes.push_back({"pads", window.explicit_pads});
  if (!window.is_same) return;
  const Value& from = call.value(x);
  const bool known = from.has_shape && from.dims.size() == rank + 2;
  if (known && call.translator().has_fixed_space(x)) {
    attributes.push_back({"pads", same_pads(window, std::span(from.dims).subspan(2))});
  } else {
    attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
  }
}

// Kernel dimensions HWIO become OIHW.
Ints kernel_order(std::size_t rank) {
  Ints order = {std::int64_t(rank) + 1, std::int64_t(rank)};
  for (std::size_t i = 0; i < rank; ++i) order.push_back(std::int64_t(i));
  return order;
}

Attributes window_attributes(const Window& window, bool with_dilations) {
  Attributes attributes = {{"kernel_shape", window.kernel}, {"strides", window.strides}};
  if (with_dilations) attributes.push_back({"dilations", window.dilations});
  return attributes;
}

bool is_tflite(const Call& call) { return call.attribute("stride_h") != nullptr; }

// int8 or int16 images with quantised kernels.
bool is_quantised(const Call& call, std::size_t image) {
  return is_integer(call.dtype(image)) && call.tensor(image).has_scale;
}

ValueId convolve(Call& call, ValueId x, ValueId kernel, ValueId bias, Attributes attributes, bool quantised) {
  Translator& t = call.translator();
  if (quantised) {
    const Tensor* y = call.output_tensor(0);
    const ValueId scale = t.quantisation(DType::Float32);
    std::vector<ValueId> inputs = {x,
                                   scale,
                                   t.quantisation(call.value(x).dtype),
                                   kernel,
                                   scale,
                                   t.quantisation(call.value(kernel).dtype),
                                   scale,
                                   t.quantisation(y == nullptr ? DType::Int8 : y->dtype)};
    if (bias != kNoValue) inputs.push_back(bias);
    return call.node(OpKind::QLinearConv, std::move(inputs), std::move(attributes));
  }
  std::vector<ValueId> inputs = {x, kernel};
  if (bias != kNoValue) inputs.push_back(bias);
  return call.node(OpKind::Conv, std::move(inputs), std::move(attributes));
}

// Groups from the channels of image and kernel.
std::int64_t groups_of(const Call& call, ValueId x, std::int64_t kernel_inputs) {
  const Value& image = call.value(x);
  if (!image.has_shape || image.dims.size() < 2 || kernel_inputs <= 0) return 1;
  return std::max<std::int64_t>(1, image.dims[1] / kernel_inputs);
}

ValueId conv(Call& call, std::size_t bias) {
  const auto kernel = call.shape(1);
  if (!kernel || kernel->size() < 3) return kNoValue;
  const std::size_t rank = kernel->size() - 2;
  const bool lite = is_tflite(call);
  Window window = read_window(call, rank);
  if (window.strides.size() != rank) return kNoValue;
  const ValueId x = call.image(0, rank + 2);
  // TensorFlow Lite's 2-D kernels are OHWI, everything else HWIO.
  const bool ohwi = lite && rank == 2;
  window.kernel = ohwi ? Ints(kernel->begin() + 1, kernel->end() - 1) : Ints(kernel->begin(), kernel->end() - 2);
  const ValueId w = call.permuted(1, ohwi ? to_first(rank + 2) : kernel_order(rank));
  Attributes attributes = window_attributes(window, true);
  attributes.push_back({"group", groups_of(call, x, ohwi ? kernel->back() : (*kernel)[rank])});
  add_padding(call, window, x, attributes);
  const ValueId b = bias > 0 && call.has(bias) ? call.plain(bias) : kNoValue;
  return convolve(call, x, w, b, std::move(attributes), lite && is_quantised(call, 0));
}

ValueId depthwise(Call& call, std::size_t bias) {
  const auto kernel = call.shape(1);
  if (!kernel || kernel->size() != 4) return kNoValue;
  const bool lite = is_tflite(call);
  Window window = read_window(call, 2);
  const ValueId x = call.image(0, 4);
  ValueId w = kNoValue;
  std::int64_t channels = 1;
  if (lite) {  // [1, H, W, C * M]
    window.kernel = {(*kernel)[1], (*kernel)[2]};
    w = call.permuted(1, {3, 0, 1, 2});
    const std::int64_t multiplier = std::max<std::int64_t>(1, call.integer("depth_multiplier", 1));
    channels = std::max<std::int64_t>(1, kernel->back() / multiplier);
    const Value& image = call.value(x);
    if (image.has_shape && image.dims.size() == 4) channels = std::max<std::int64_t>(1, image.dims[1]);
  } else {  // [H, W, C, M]
    window.kernel = {(*kernel)[0], (*kernel)[1]};
    channels = (*kernel)[2];
    const Dims target = {checked_mul((*kernel)[2], (*kernel)[3]), 1, (*kernel)[0], (*kernel)[1]};
    w = call.is_constant(1) ? call.reshaped(1, target)
                            : call.reshape(call.transposed(call.plain(1), {2, 3, 0, 1}), target);
  }
  Attributes attributes = window_attributes(window, true);
  attributes.push_back({"group", channels});
  add_padding(call, window, x, attributes);
  const ValueId b = bias > 0 && call.has(bias) ? call.plain(bias) : kNoValue;
  return convolve(call, x, w, b, std::move(attributes), lite && is_quantised(call, 0));
}

// What TensorFlow's fused operators do after the product, in order.
ValueId apply_fused(Call& call, ValueId id, bool channels_first) {
  const Attribute* found = call.attribute("fused_ops");
  const auto* names = found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&found->value);
  if (names == nullptr) return id;
  for (const std::string& name : *names) {
    if (name == "Relu") id = call.node(OpKind::Relu, {id});
    if (name == "Relu6") id = call.node(OpKind::Clip, {id}, {{"min", 0.0}, {"max", 6.0}});
    if (name == "Elu") id = call.node(OpKind::Elu, {id});
    if (name == "Sigmoid") id = call.node(OpKind::Sigmoid, {id});
    if (name == "Tanh") id = call.node(OpKind::Tanh, {id});
    if (name == "LeakyRelu") id = call.node(OpKind::LeakyRelu, {id}, {{"alpha", call.real("leakyrelu_alpha", 0.2)}});
    if (name == "Prelu" && call.has(3)) {
      std::vector<ValueId> operands;
      const auto slope = call.shape(3);
      const Value y = call.value(id);
      ValueId weights = call.plain(3);
      if (channels_first && slope && y.has_shape && !slope->empty()) {
        Dims whole(y.dims.size() > slope->size() ? y.dims.size() - slope->size() : 0, 1);
        whole.insert(whole.end(), slope->begin(), slope->end());
        Dims wanted = permute(whole, to_first(whole.size()));
        wanted.erase(wanted.begin());
        weights = call.reshaped(3, wanted);
      }
      id = call.node(OpKind::PRelu, {id, weights});
    }
  }
  return id;
}

bool has_fused(const Call& call, std::string_view name) {
  const Attribute* found = call.attribute("fused_ops");
  const auto* names = found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&found->value);
  return names != nullptr && std::find(names->begin(), names->end(), name) != names->end();
}

}  // namespace

void build_conv(Call& call) {
  const ValueId y = conv(call, is_tflite(call) ? 2 : 0);
  if (y == kNoValue) return call.unknown();
  call.image_result(0, activate(call, y));
}

void build_depthwise_conv(Call& call) {
  const ValueId y = depthwise(call, is_tflite(call) ? 2 : 0);
  if (y == kNoValue) return call.unknown();
  call.image_result(0, activate(call, y));
}

// _FusedConv2D and FusedDepthwiseConv2dNative: image, kernel, then the operands of fused_ops.
void build_fused_conv(Call& call) {
  const std::size_t bias = has_fused(call, "BiasAdd") ? 2 : 0;
  const bool is_depthwise = call.operation().type.find("Depthwise") != std::string::npos;
  ValueId y = is_depthwise ? depthwise(call, bias) : conv(call, bias);
  if (y == kNoValue) return call.unknown();
  if (has_fused(call, "FusedBatchNorm") && call.inputs() >= 6)
    y = call.node(OpKind::BatchNormalization, {y, call.plain(2), call.plain(3), call.plain(4), call.plain(5)});
  call.image_result(0, apply_fused(call, y, !call.is_nchw()));
}

// TensorFlow: the gradient of a convolution by its input (sizes, kernel HWOI, image); Lite: sizes, OHWI, image, bias.
void build_conv_transpose(Call& call) {
  const auto kernel = call.shape(1);
  if (!kernel || kernel->size() < 4) return call.unknown();
  const std::size_t rank = kernel->size() - 2;
  const bool lite = is_tflite(call);
  Window window = read_window(call, rank);
  if (window.strides.size() != rank) return call.unknown();
  const ValueId x = call.image(2, rank + 2);
  const bool ohwi = lite && rank == 2;
  window.kernel = ohwi ? Ints(kernel->begin() + 1, kernel->end() - 1) : Ints(kernel->begin(), kernel->end() - 2);
  // Ours is [in, out / group, space].
  Ints order;
  if (ohwi) {
    order = {3, 0, 1, 2};
  } else {
    order = {std::int64_t(rank) + 1, std::int64_t(rank)};
    for (std::size_t i = 0; i < rank; ++i) order.push_back(std::int64_t(i));
  }
  std::vector<ValueId> inputs = {x, call.permuted(1, order)};
  if (lite && call.has(3)) inputs.push_back(call.plain(3));
  Attributes attributes = window_attributes(window, true);
  // The size of the result is an operand; where it is not known it follows from the input's.
  Ints space;
  if (const Ints* sizes = call.integers(0); sizes != nullptr && sizes->size() == rank + 2)
    space = space_of(*sizes, rank, call.is_nchw());
  if (const Ints* sizes = call.example(0);
      space.empty() && sizes != nullptr && sizes->size() == rank + 2 && call.translator().has_fixed_space(x))
    space = space_of(*sizes, rank, call.is_nchw());
  if (!space.empty() && std::all_of(space.begin(), space.end(), [](std::int64_t d) { return d > 0; })) {
    attributes.push_back({"output_shape", space});
    if (window.is_same) attributes.push_back({"pads", same_pads(window, space)});
  } else if (window.is_same) {
    attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
  }
  call.image_result(0, activate(call, call.node(OpKind::ConvTranspose, std::move(inputs), std::move(attributes))));
}

// MediaPipe's custom operator: image, kernel OHWI, bias; the strides follow from the declared result.
void build_custom_conv_transpose(Call& call) {
  const auto kernel = call.shape(1);
  const auto image = call.shape(0);
  const Tensor* y = call.output_tensor(0);
  if (!kernel || kernel->size() != 4 || !image || image->size() != 4 || y == nullptr || y->dims.size() != 4)
    return call.unknown();
  Ints strides, space;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if ((*image)[i] <= 0 || y->dims[i] <= 0) return call.unknown();
    strides.push_back(std::max<std::int64_t>(1, y->dims[i] / (*image)[i]));
    space.push_back(y->dims[i]);
  }
  const ValueId x = call.first(0, 4);
  std::vector<ValueId> inputs = {x, call.permuted(1, {3, 0, 1, 2})};
  if (call.has(2)) inputs.push_back(call.plain(2));
  const Ints sides(kernel->begin() + 1, kernel->end() - 1);
  call.result(0,
              call.node(OpKind::ConvTranspose, std::move(inputs),
                        {{"kernel_shape", sides}, {"strides", strides}, {"output_shape", space}}),
              true);
}

void build_pool(Call& call) {
  const std::size_t rank = call.rank(0).value_or(call.operation().type.ends_with("3D") ? 5 : 4);
  if (rank < 3) return call.unknown();
  Window window = read_window(call, rank - 2);
  if (const auto* sizes = call.integers(1); window.kernel.size() != rank - 2 && sizes != nullptr)
    window.kernel = space_of(*sizes, rank - 2, call.is_nchw());
  if (window.kernel.size() != rank - 2 || window.strides.size() != rank - 2) return call.unknown();
  if (call.operation().type == "MaxPoolV2") {
    if (const Ints* sizes = call.integers(1)) window.kernel = space_of(*sizes, rank - 2, call.is_nchw());
    if (const Ints* steps = call.integers(2)) window.strides = space_of(*steps, rank - 2, call.is_nchw());
  }
  const ValueId x = call.image(0, rank);
  Attributes attributes = window_attributes(window, false);
  window.dilations.assign(rank - 2, 1);
  add_padding(call, window, x, attributes);
  const std::size_t results =
      call.kind() == OpKind::MaxPool ? std::min<std::size_t>(2, std::max<std::size_t>(1, call.outputs())) : 1;
  const ValueId y = call.node(call.kind(), {x}, std::move(attributes), results);
  call.image_result(0, activate(call, y));
  if (results == 2) call.image_result(1, y + 1);
}

void build_batch_norm(Call& call) {
  const std::size_t rank = call.rank(0).value_or(4);
  const ValueId x = rank >= 3 ? call.image(0, rank) : call.plain(0);
  std::vector<ValueId> inputs = {x};
  const bool training = call.integer("is_training", 1) != 0;
  for (std::size_t i = 1; i <= 4; ++i) {
    // In training the running statistics are empty: those of the batch are used.
    const auto dims = call.shape(i);
    const bool is_empty = dims && checked_product(*dims) == 0;
    inputs.push_back(is_empty ? inputs[1] : call.plain(i));
  }
  const ValueId y =
      call.node(OpKind::BatchNormalization, std::move(inputs),
                {{"epsilon", call.real("epsilon", 1e-3)}, {"training_mode", std::int64_t{training}}}, training ? 3 : 1);
  if (rank >= 3) {
    call.image_result(0, y);
  } else {
    call.result(0, y);
  }
  for (std::size_t i = 1; i < call.outputs(); ++i) {
    if (call.output_tensor(i) == nullptr) continue;
    if (training && i <= 2) {
      call.result(i, y + ValueId(i));
    } else if (i <= 4 && call.has(i == 1 || i == 3 ? 3 : 4)) {
      call.alias(i, i == 1 || i == 3 ? 3 : 4);
    }
  }
}

void build_resize(Call& call) {
  const ValueId x = call.image(0, 4);
  if (!call.has(1)) return call.unknown();
  const std::string& type = call.operation().type;
  const bool nearest = type.find("earest") != std::string::npos || type.find("NEAREST") != std::string::npos;
  const bool cubic = type.find("ubic") != std::string::npos;
  const bool half = call.integer("half_pixel_centers") != 0;
  const bool corners = call.integer("align_corners") != 0;
  const std::string mode = nearest ? "nearest" : cubic ? "cubic" : "linear";
  const std::string place = half ? "half_pixel" : corners ? "align_corners" : "asymmetric";
  call.image_result(0, call.node(OpKind::Resize, {x, kNoValue, kNoValue, call.plain(1)},
                                 {{"mode", mode}, {"coordinate_transformation_mode", place}, {"axes", Ints{2, 3}}}));
}

void build_depth_to_space(Call& call) {
  const ValueId x = call.image(0, 4);
  call.image_result(0, call.node(OpKind::DepthToSpace, {x},
                                 {{"blocksize", call.integer("block_size")}, {"mode", std::string("DCR")}}));
}

void build_space_to_depth(Call& call) {
  const ValueId x = call.image(0, 4);
  call.image_result(0, call.node(OpKind::SpaceToDepth, {x}, {{"blocksize", call.integer("block_size")}}));
}

void build_lrn(Call& call) {
  const ValueId x = call.first(0, 4);
  const std::int64_t radius =
      std::clamp<std::int64_t>(call.integer("radius", call.integer("depth_radius", 5)), 0, 1 << 20);
  call.result(0, call.node(OpKind::LRN, {x}, {{"size", 2 * radius + 1}}), true);
}

}  // namespace forerun::tensorflow
