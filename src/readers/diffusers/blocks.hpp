// Layers that the networks of diffusion pipelines are made of, as the `diffusers` library runs them: images are batch,
// channels, height, width. Names are relative to the builder's scope.
#pragma once

#include <cstdint>
#include <string_view>

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun::diffusers {

// A square kernel with the padding that keeps the size, and a bias.
ValueId conv(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t channels, std::int64_t kernel,
             std::int64_t stride = 1);
ValueId group_norm(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t groups);

// `time` is the embedding of the time step, or kNoValue (autoencoders).
ValueId resnet(GraphBuilder& b, ValueId x, ValueId time, std::int64_t channels, std::int64_t groups);

struct TransformerSpec {
  std::int64_t heads = 8, layers = 1, groups = 32;
  bool linear_projection = false;  // on tokens instead of a convolution on the image
};
// Attention over the image and over `context` [batch, tokens, width], and a gated feed-forward, `layers` times.
ValueId transformer(GraphBuilder& b, ValueId x, ValueId context, const TransformerSpec& spec);
// One head over all places of the image, as autoencoders have it.
ValueId image_attention(GraphBuilder& b, ValueId x, std::int64_t groups);

ValueId downsample(GraphBuilder& b, ValueId x);
ValueId upsample(GraphBuilder& b, ValueId x, std::int64_t height, std::int64_t width);

// A field that is one number for all blocks or a list with one for each.
std::vector<std::int64_t> per_block(const Config& config, std::string_view name, std::size_t blocks,
                                    std::int64_t fallback);

}  // namespace forerun::diffusers
