// Self- and cross-attention as Hugging Face's implementations run it: SDPA (one Attention node) or eager (MatMul, mask,
// Softmax, MatMul), with the key-value cache as graph inputs and outputs.
#pragma once

#include <cstdint>
#include <string_view>

#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

enum class QkNorm : std::uint8_t { None, HeadRms, HeadRmsBare, FullRms, HeadLayer, PerHeadLayer };

struct AttentionSpec {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t value_dim = 0;  // of a value head; 0 = head_dim
  bool qkv_bias = false;
  bool out_bias = false;
  bool key_has_no_bias = false;  // although the others have one (Whisper)
  bool fused_qkv = false;        // one projection for q, k and v
  bool keys_are_values = false;  // no value projection: values are the keys
  bool clips_qkv = false;
  QkNorm qk_norm = QkNorm::None;
  bool norm_after_rotary = false;
  bool norm_bias = false;       // of HeadLayer norms
  bool v_norm = false;          // bare RMS norm of the values
  std::int64_t rotary_dim = 0;  // 0: no rotary embedding
  bool rotary_interleaved = false;
  std::string_view rotary_set = {};  // which frequencies, where a network has several
  std::int64_t window = 0;           // keys a query may see; 0 = all
  bool is_causal = true;
  bool eager = false;  // no SDPA for this architecture
  bool softmax_in_float32 = true;
  bool softcaps = false;
  bool has_sinks = false;     // one learned logit per head joins the softmax
  bool has_alibi = false;     // a bias by distance, added to the scores
  bool gated_output = false;  // the query projection also makes a gate for the output
  bool head_gate = false;     // a sigmoid gate per head, from a projection of its own
  bool uses_cache = true;

  std::string_view q = "q_proj", k = "k_proj", v = "v_proj", qkv = "qkv_proj", out = "o_proj";
  std::string_view q_norm = "q_norm", k_norm = "k_norm";
};

struct Heads {
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;  // [B, heads, tokens, head_dim]
};

// [B, S, heads * dim] as [B, heads, S, dim] and back; both are views in PyTorch (the way back copies).
ValueId split_heads(GraphBuilder& b, ValueId x, std::int64_t heads, std::int64_t dim);
ValueId merge_heads(GraphBuilder& b, ValueId x);

// The whole block: projections, norms, rotary, cache, attention, output projection. x is [B, S, hidden].
ValueId self_attention(GraphBuilder& b, ValueId x, const AttentionSpec& spec, std::int64_t layer);

// Attention of x over `source` (the encoder's output), or in decode over its cached keys and values.
ValueId cross_attention(GraphBuilder& b, ValueId x, ValueId source, const AttentionSpec& spec, std::int64_t layer);

// Keys and values of this layer with the cached ones before them; registers cache inputs and outputs.
Heads extend_cache(GraphBuilder& b, Heads heads, const AttentionSpec& spec, std::int64_t layer);

// Attention proper. `bias` is an additive mask that replaces the causal one, or kNoValue.
ValueId attend(GraphBuilder& b, const Heads& heads, const AttentionSpec& spec, ValueId bias = kNoValue);

}  // namespace forerun
