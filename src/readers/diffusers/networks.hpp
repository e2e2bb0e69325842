// The networks of a diffusion pipeline, each written into a builder from its own configuration.
#pragma once

#include <cstdint>

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun::diffusers {

// UNet2DConditionModel: inputs `sample` [batch, channels, height, width], `timestep`, `encoder_hidden_states` and, with
// an added text embedding, `text_embeds` and `time_ids`. Output `noise`.
void build_unet(const Config& config, GraphBuilder& b, std::int64_t height, std::int64_t width,
                std::int64_t context_tokens);

// The decoder of AutoencoderKL: input `latents`, output `image`.
void build_vae_decoder(const Config& config, GraphBuilder& b, std::int64_t height, std::int64_t width);

// CLIPTextModel and CLIPTextModelWithProjection: output `last_hidden_state`, and `text_embeds` of the latter.
void build_text_encoder(const Config& config, GraphBuilder& b, bool has_projection);

}  // namespace forerun::diffusers
