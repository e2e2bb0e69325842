#include "readers/diffusers/blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "readers/huggingface/attention.hpp"

namespace forerun::diffusers {
namespace {

std::int64_t per_head(std::int64_t channels, std::int64_t heads) {
  return std::max<std::int64_t>(channels / std::max<std::int64_t>(heads, 1), 1);
}

// The result is divided by a factor that is 1: a kernel all the same.
ValueId attend_over(GraphBuilder& b, ValueId x, ValueId source, std::int64_t heads, bool bias, std::string_view name) {
  const Scope scope(b, name);
  AttentionSpec spec;
  spec.heads = spec.kv_heads = heads;
  spec.head_dim = per_head(b.last_dim(x), heads);
  spec.qkv_bias = bias;
  spec.out_bias = true;
  spec.is_causal = spec.uses_cache = false;
  spec.q = "to_q";
  spec.k = "to_k";
  spec.v = "to_v";
  spec.out = "to_out.0";
  return b.scale(cross_attention(b, x, source, spec, 0));
}

ValueId feed_forward(GraphBuilder& b, ValueId x) {
  const std::int64_t width = b.last_dim(x);
  const auto parts = b.split(b.linear(x, "ff.net.0.proj", 8 * width, true), {4 * width, 4 * width});
  return b.linear(b.mul(parts[0], b.activation(parts[1], "gelu")), "ff.net.2", width, true);
}

// [B, C, H, W] as [B, H W, C] and back.
ValueId to_tokens(GraphBuilder& b, ValueId x) {
  const Dims shape = b.dims(x);
  return b.reshape(b.transpose(x, {0, 2, 3, 1}), {shape[0], shape[2] * shape[3], shape[1]});
}
ValueId to_image(GraphBuilder& b, ValueId x, std::int64_t height, std::int64_t width) {
  const Dims shape = b.dims(x);
  return b.transpose(b.reshape(x, {shape[0], height, width, shape[2]}), {0, 3, 1, 2});
}

}  // namespace

ValueId conv(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t channels, std::int64_t kernel,
             std::int64_t stride) {
  const Dims shape = b.dims(x);
  const std::int64_t pad = kernel / 2;
  const auto size = [&](std::int64_t length) { return (length + 2 * pad - kernel) / stride + 1; };
  const std::string module(name);
  const ValueId weight = b.parameter(module + ".weight", {channels, shape[1], kernel, kernel});
  const ValueId bias = b.parameter(module + ".bias", {channels});
  return b.op(OpKind::Conv, {x, weight, bias}, {shape[0], channels, size(shape[2]), size(shape[3])},
              {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
               {"strides", std::vector<std::int64_t>{stride, stride}},
               {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
}

ValueId group_norm(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t groups) {
  const std::string module(name);
  const std::int64_t channels = b.dims(x)[1];
  return b.op(OpKind::GroupNormalization,
              {x, b.parameter(module + ".weight", {channels}), b.parameter(module + ".bias", {channels})}, b.dims(x),
              {{"num_groups", groups}});
}

ValueId resnet(GraphBuilder& b, ValueId x, ValueId time, std::int64_t channels, std::int64_t groups) {
  ValueId y = conv(b, b.activation(group_norm(b, x, "norm1", groups), "silu"), "conv1", channels, 3);
  if (time != kNoValue) {
    const ValueId shift = b.linear(b.activation(time, "silu"), "time_emb_proj", channels, true);
    y = b.add(y, b.reshape(shift, {b.dims(shift)[0], channels, 1, 1}));
  }
  y = conv(b, b.activation(group_norm(b, y, "norm2", groups), "silu"), "conv2", channels, 3);
  if (b.dims(x)[1] != channels) x = conv(b, x, "conv_shortcut", channels, 1);
  return b.scale(b.add(x, y));  // divided by output_scale_factor
}

ValueId transformer(GraphBuilder& b, ValueId x, ValueId context, const TransformerSpec& spec) {
  const Dims shape = b.dims(x);
  ValueId y = group_norm(b, x, "norm", spec.groups);
  if (spec.linear_projection) {
    y = b.linear(to_tokens(b, y), "proj_in", shape[1], true);
  } else {
    y = to_tokens(b, conv(b, y, "proj_in", shape[1], 1));
  }
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    const Scope scope(b, "transformer_blocks." + std::to_string(i) + ".");
    const ValueId first = b.layer_norm(y, "norm1");
    y = b.add(attend_over(b, first, first, spec.heads, false, "attn1."), y);
    y = b.add(attend_over(b, b.layer_norm(y, "norm2"), context, spec.heads, false, "attn2."), y);
    y = b.add(feed_forward(b, b.layer_norm(y, "norm3")), y);
  }
  if (spec.linear_projection) {
    y = to_image(b, b.linear(y, "proj_out", shape[1], true), shape[2], shape[3]);
  } else {
    y = conv(b, to_image(b, y, shape[2], shape[3]), "proj_out", shape[1], 1);
  }
  return b.add(y, x);
}

ValueId image_attention(GraphBuilder& b, ValueId x, std::int64_t groups) {
  const Dims shape = b.dims(x);
  const ValueId tokens = to_tokens(b, group_norm(b, x, "group_norm", groups));
  const ValueId y = attend_over(b, tokens, tokens, 1, true, "");
  return b.add(to_image(b, y, shape[2], shape[3]), x);
}

ValueId downsample(GraphBuilder& b, ValueId x) { return conv(b, x, "downsamplers.0.conv", b.dims(x)[1], 3, 2); }

ValueId upsample(GraphBuilder& b, ValueId x, std::int64_t height, std::int64_t width) {
  const Dims out = {b.dims(x)[0], b.dims(x)[1], height, width};
  const ValueId larger =
      b.op(OpKind::Resize, {x, kNoValue, kNoValue, b.constant(out)}, out, {{"mode", std::string("nearest")}});
  return conv(b, larger, "upsamplers.0.conv", out[1], 3);
}

std::vector<std::int64_t> per_block(const Config& config, std::string_view name, std::size_t blocks,
                                    std::int64_t fallback) {
  if (!config.is_list(name)) return std::vector<std::int64_t>(blocks, config.size(name, fallback));
  std::vector<std::int64_t> values = config.integers(name);
  const bool is_sound = values.size() == blocks && std::all_of(values.begin(), values.end(), [](std::int64_t value) {
                          return value >= 1 && value <= kMaxConfigSize;
                        });
  if (is_sound) return values;
  config.fail("field '" + std::string(name) + "' is not a list with a size for each block");
  return std::vector<std::int64_t>(blocks, fallback);
}

}  // namespace forerun::diffusers
