// Mixers with a state of fixed size instead of a growing cache: gated delta rule (Qwen 3 Next and 3.5, Kimi Linear) and
// Mamba 2. Prefill runs in chunks of matrix products, decode updates the state by one token.
#pragma once

#include <cstdint>

#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

struct DeltaNetSpec {
  std::int64_t key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128, kernel = 4;
  bool fused_projections = true;  // q, k, v and z in one, b and a in another
};
ValueId gated_delta_net(GraphBuilder& b, ValueId x, const DeltaNetSpec& spec, std::int64_t layer);

struct Mamba2Spec {
  std::int64_t heads = 128, head_dim = 64, groups = 8, state = 128, kernel = 4, chunk = 128;
  bool conv_bias = true;
  bool bias = false;
};
ValueId mamba2(GraphBuilder& b, ValueId x, const Mamba2Spec& spec, std::int64_t layer);

// The recurrence state[t] = decay * state[t-1] + k v^T (with the delta rule's correction), y = q state.
// q, k: [B, H, S, key], v: [B, H, S, value]; returns [B, H, S, value].
ValueId linear_recurrence(GraphBuilder& b, ValueId q, ValueId k, ValueId v, std::int64_t chunk, bool has_delta_rule,
                          std::int64_t layer);

// A causal depthwise convolution over the tokens of x [B, S, channels], then SiLU; keeps its last inputs as a cache.
ValueId causal_convolution(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t kernel, bool bias,
                           std::int64_t layer);

}  // namespace forerun
