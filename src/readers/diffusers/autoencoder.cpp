// AutoencoderKL's decoder, and CLIP's text encoders.
#include <algorithm>
#include <string>

#include "readers/diffusers/blocks.hpp"
#include "readers/diffusers/networks.hpp"
#include "readers/huggingface/clip_text.hpp"
#include "readers/printable.hpp"

namespace forerun::diffusers {

void build_vae_decoder(const Config& config, GraphBuilder& b, std::int64_t height, std::int64_t width) {
  std::vector<std::int64_t> channels = config.integers("block_out_channels");
  if (channels.empty()) channels = {64};
  for (const std::string& type : config.texts("up_block_types")) {
    if (type != "UpDecoderBlock2D") config.fail("block " + in_quotes(type) + " is not supported");
  }
  const bool is_sound = channels.size() <= 16 && std::all_of(channels.begin(), channels.end(), [](std::int64_t size) {
                          return size >= 1 && size <= kMaxConfigSize;
                        });
  if (!is_sound) {
    config.fail("block_out_channels is not a list of sizes");
    return;
  }
  const std::int64_t groups = config.size("norm_num_groups", 32), latent = config.size("latent_channels", 4);
  const std::int64_t layers = config.layers("layers_per_block", 1);
  const Scope scope(b, "vae.");
  ValueId x = b.scale(b.input("latents", b.run.activations, {b.run.batch, latent, height, width}));
  if (config.flag("use_post_quant_conv", true)) x = conv(b, x, "post_quant_conv", latent, 1);
  const Scope decoder(b, "decoder.");
  x = conv(b, x, "conv_in", channels.back(), 3);
  const auto residual = [&](const std::string& name, std::int64_t wide) {
    const Scope inner(b, name);
    return resnet(b, x, kNoValue, wide, groups);
  };
  {
    const Scope block(b, "mid_block.");
    x = residual("resnets.0.", channels.back());
    if (config.flag("mid_block_add_attention", true)) {
      const Scope inner(b, "attentions.0.");
      x = image_attention(b, x, groups);
    }
    x = residual("resnets.1.", channels.back());
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Scope block(b, "up_blocks." + std::to_string(i) + ".");
    for (std::int64_t layer = 0; layer <= layers; ++layer)
      x = residual("resnets." + std::to_string(layer) + ".", channels[channels.size() - 1 - i]);
    if (i + 1 < channels.size()) x = upsample(b, x, 2 * b.dims(x)[2], 2 * b.dims(x)[3]);
  }
  x = b.activation(group_norm(b, x, "conv_norm_out", groups), "silu");
  b.output(conv(b, x, "conv_out", config.size("out_channels", 3), 3), "image");
}

void build_text_encoder(const Config& config, GraphBuilder& b, bool has_projection) {
  const ValueId states = clip_text_states(config, b);
  const std::int64_t tokens = b.dims(states)[1], hidden = b.last_dim(states);
  b.output(states, "last_hidden_state");
  if (!has_projection) return;
  const ValueId pooled = b.reshape(b.slice(states, 1, tokens - 1, 1), {b.run.batch, hidden});
  b.output(b.linear(pooled, "text_projection", config.size("projection_dim", 512), false), "text_embeds");
}

}  // namespace forerun::diffusers
