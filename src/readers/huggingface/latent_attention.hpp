// Multi-head latent attention (DeepSeek): keys and values are projected down to one latent per token, and only that and
// one shared rotary key are cached.
#pragma once

#include <cstdint>

#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

struct MlaSpec {
  std::int64_t heads = 1;
  std::int64_t q_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_rank = 512;
  std::int64_t nope_dim = 128, rope_dim = 64, value_dim = 128;
  bool bias = false;
  bool has_rotary = true;
  // Sparse attention by an indexer (0 = none): its heads pick the top keys, which alone are attended to.
  std::int64_t index_heads = 0, index_dim = 128, index_top_k = 2048;
  bool index_is_shared = false;  // this layer reuses an earlier layer's choice
};

// Prefill expands the latents to full heads, as Hugging Face does. Decode attends over the cached latents themselves,
// with the expansion folded into queries and outputs, as serving engines do.
ValueId latent_attention(GraphBuilder& b, ValueId x, const MlaSpec& spec, std::int64_t layer);

}  // namespace forerun
