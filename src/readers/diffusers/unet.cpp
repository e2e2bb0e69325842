// UNet2DConditionModel of Stable Diffusion 1, 2 and XL.
#include <algorithm>
#include <string>

#include "readers/diffusers/blocks.hpp"
#include "readers/diffusers/networks.hpp"
#include "readers/printable.hpp"

namespace forerun::diffusers {
namespace {

constexpr std::size_t kMostBlocks = 16;

struct Spec {
  std::vector<std::int64_t> channels, layers, heads, depth;
  std::vector<std::string> down, up;
  std::int64_t groups = 32;
  bool linear_projection = false;
};

// Variants that other pipelines have and that are not written here.
void refuse_variants(const Config& config) {
  for (const char* field : {"class_embed_type", "encoder_hid_dim_type", "encoder_hid_dim", "num_class_embeds",
                            "reverse_transformer_layers_per_block", "time_embedding_act_fn"}) {
    if (config.has(field)) config.fail("'" + std::string(field) + "' is not supported");
  }
  const std::string added = config.text("addition_embed_type", "");
  if (!added.empty() && added != "text_time")
    config.fail("addition_embed_type " + in_quotes(added) + " is not supported");
  if (config.text("resnet_time_scale_shift", "default") != "default")
    config.fail("'resnet_time_scale_shift' other than default is not supported");
  if (config.text("time_embedding_type", "positional") != "positional")
    config.fail("'time_embedding_type' other than positional is not supported");
  if (config.flag("dual_cross_attention", false)) config.fail("'dual_cross_attention' is not supported");
  if (config.is_list("only_cross_attention") || config.flag("only_cross_attention", false))
    config.fail("'only_cross_attention' is not supported");
  if (config.is_list("cross_attention_dim")) config.fail("a list as 'cross_attention_dim' is not supported");
  const std::string middle = config.text("mid_block_type", "UNetMidBlock2DCrossAttn");
  if (middle != "UNetMidBlock2DCrossAttn") config.fail("block " + in_quotes(middle) + " is not supported");
}

Spec read_spec(const Config& config) {
  Spec spec;
  refuse_variants(config);
  spec.channels = config.integers("block_out_channels");
  if (spec.channels.empty()) spec.channels = {320, 640, 1280, 1280};
  const std::size_t blocks = spec.channels.size();
  spec.down = config.texts("down_block_types");
  spec.up = config.texts("up_block_types");
  const bool is_sound = blocks <= kMostBlocks && spec.down.size() == blocks && spec.up.size() == blocks &&
                        std::all_of(spec.channels.begin(), spec.channels.end(),
                                    [](std::int64_t size) { return size >= 1 && size <= kMaxConfigSize; });
  if (!is_sound) config.fail("down_block_types, up_block_types and block_out_channels do not fit together");
  for (const std::string& type : spec.down) {
    if (type != "CrossAttnDownBlock2D" && type != "DownBlock2D")
      config.fail("block " + in_quotes(type) + " is not supported");
  }
  for (const std::string& type : spec.up) {
    if (type != "CrossAttnUpBlock2D" && type != "UpBlock2D")
      config.fail("block " + in_quotes(type) + " is not supported");
  }
  spec.layers = per_block(config, "layers_per_block", blocks, 2);
  // What the library calls attention_head_dim is the number of heads, unless num_attention_heads says it.
  spec.heads =
      per_block(config, config.has("num_attention_heads") ? "num_attention_heads" : "attention_head_dim", blocks, 8);
  spec.depth = per_block(config, "transformer_layers_per_block", blocks, 1);
  for (const auto* sizes : {&spec.layers, &spec.depth}) {
    if (std::any_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size > 256; }))
      config.fail("more than 256 layers in a block");
  }
  spec.groups = config.size("norm_num_groups", 32);
  spec.linear_projection = config.flag("use_linear_projection", false);
  return spec;
}

// sin and cos of the time steps, [batch, width].
ValueId sinusoid(GraphBuilder& b, ValueId steps, std::int64_t width) {
  const std::int64_t batch = b.dims(steps)[0], half = std::max<std::int64_t>(width / 2, 1);
  const ValueId frequencies = b.unary(OpKind::Exp, b.buffer("exponent", DType::Float32, {1, half}));
  const ValueId angles =
      b.op_as(DType::Float32, OpKind::Mul, {b.reshape(steps, {batch, 1}), frequencies}, {batch, half});
  const ValueId both = b.concat({b.unary(OpKind::Sin, angles), b.unary(OpKind::Cos, angles)}, 1);
  return b.cast(both, b.run.activations);
}

ValueId two_layers(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t width) {
  const std::string module(name);
  const ValueId inner = b.activation(b.linear(x, module + ".linear_1", width, true), "silu");
  return b.linear(inner, module + ".linear_2", width, true);
}

ValueId embed_time(const Config& config, GraphBuilder& b, std::int64_t channels) {
  const std::int64_t batch = b.run.batch, width = 4 * channels;
  ValueId sample = sinusoid(b, b.input("timestep", DType::Float32, {batch}), channels);
  if (config.has("time_cond_proj_dim")) {  // the guidance as an input, of distilled networks
    const ValueId guidance =
        b.input("timestep_cond", b.run.activations, {batch, config.size("time_cond_proj_dim", 256)});
    sample = b.add(sample, b.linear(guidance, "time_embedding.cond_proj", channels, false));
  }
  ValueId time = two_layers(b, sample, "time_embedding", width);
  if (config.text("addition_embed_type", "") != "text_time") return time;
  constexpr std::int64_t kTimeIds = 6;  // sizes and crops of the image
  const std::int64_t added = config.size("addition_time_embed_dim", 256);
  const std::int64_t projected = config.size("projection_class_embeddings_input_dim", 2816);
  if (projected <= kTimeIds * added) {
    config.fail("projection_class_embeddings_input_dim is too small for addition_time_embed_dim");
    return time;
  }
  const ValueId ids = b.input("time_ids", DType::Float32, {batch, kTimeIds});
  const ValueId sizes = b.reshape(sinusoid(b, b.reshape(ids, {batch * kTimeIds}), added), {batch, kTimeIds * added});
  const ValueId text = b.input("text_embeds", b.run.activations, {batch, projected - kTimeIds * added});
  return b.add(time, two_layers(b, b.concat({text, sizes}, 1), "add_embedding", width));
}

}  // namespace

void build_unet(const Config& config, GraphBuilder& b, std::int64_t height, std::int64_t width,
                std::int64_t context_tokens) {
  const Spec spec = read_spec(config);
  if (spec.down.size() != spec.channels.size() || spec.up.size() != spec.channels.size()) return;
  const std::size_t blocks = spec.channels.size();
  const Scope scope(b, "unet.");
  const ValueId sample =
      b.input("sample", b.run.activations, {b.run.batch, config.size("in_channels", 4), height, width});
  const ValueId context = b.input("encoder_hidden_states", b.run.activations,
                                  {b.run.batch, context_tokens, config.size("cross_attention_dim", 1280)});
  const ValueId time = embed_time(config, b, spec.channels[0]);
  const auto block_of = [&](ValueId x, std::size_t at, std::int64_t layer, bool attends) {
    const std::string number = std::to_string(layer);
    {
      const Scope inner(b, "resnets." + number + ".");
      x = resnet(b, x, time, spec.channels[at], spec.groups);
    }
    if (!attends) return x;
    const Scope inner(b, "attentions." + number + ".");
    return transformer(b, x, context, {spec.heads[at], spec.depth[at], spec.groups, spec.linear_projection});
  };
  ValueId x = conv(b, sample, "conv_in", spec.channels[0], config.size("conv_in_kernel", 3));
  std::vector<ValueId> skips = {x};
  for (std::size_t i = 0; i < blocks; ++i) {
    const Scope block(b, "down_blocks." + std::to_string(i) + ".");
    for (std::int64_t layer = 0; layer < spec.layers[i]; ++layer) {
      x = block_of(x, i, layer, spec.down[i] == "CrossAttnDownBlock2D");
      skips.push_back(x);
    }
    if (i + 1 < blocks) skips.push_back(x = downsample(b, x));
  }
  {
    const Scope block(b, "mid_block.");
    x = block_of(x, blocks - 1, 0, true);
    x = block_of(x, blocks - 1, 1, false);
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t at = blocks - 1 - i;
    const Scope block(b, "up_blocks." + std::to_string(i) + ".");
    for (std::int64_t layer = 0; layer <= spec.layers[at] && !skips.empty(); ++layer) {
      x = b.concat({x, skips.back()}, 1);
      skips.pop_back();
      x = block_of(x, at, layer, spec.up[i] == "CrossAttnUpBlock2D");
    }
    if (i + 1 < blocks && !skips.empty()) {
      const Dims larger = b.dims(skips.back());
      x = upsample(b, x, larger[2], larger[3]);
    }
  }
  x = b.activation(group_norm(b, x, "conv_norm_out", spec.groups), "silu");
  b.output(conv(b, x, "conv_out", config.size("out_channels", 4), config.size("conv_out_kernel", 3)), "noise");
}

}  // namespace forerun::diffusers
