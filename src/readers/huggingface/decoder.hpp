// The decoder most architectures are variants of: embedding, layers of attention and feed-forward, norm, head.
// An architecture's file fills a DecoderSpec; what a layer does differently goes into `adjust` or `mixer`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/config.hpp"
#include "readers/huggingface/feed_forward.hpp"

namespace forerun {

enum class NormKind : std::uint8_t { Rms, Layer, LayerNoBias, LayerBare };

enum class Residual : std::uint8_t {
  PreNorm,   // x += attention(norm(x)); x += mlp(norm(x))
  PostNorm,  // x = norm(x + attention(x)); x = norm(x + mlp(x))
  Parallel,  // x += attention(norm(x)) + mlp(norm(x)), one norm for both
  ParallelTwoNorms,
  Sandwich,       // a norm before and after both
  NormedOutputs,  // x += norm(attention(x)); x += norm(mlp(x))
};

struct LayerSpec {
  AttentionSpec attention;
  MlpSpec mlp;
  MoeSpec moe;  // instead of the MLP when it has experts
  bool has_attention = true;
  bool has_mlp = true;
  // Replaces attention: MLA, linear attention, state spaces. Gets the layer's normed input.
  std::function<ValueId(GraphBuilder&, ValueId x, std::int64_t layer)> mixer;
};

struct DecoderNames {
  std::string_view embed = "model.embed_tokens", positions = "wpe", layers = "model.layers.", final_norm = "model.norm",
                   head = "lm_head", attention = "self_attn.", mlp = "mlp.", moe = "mlp.", norm1 = "input_layernorm",
                   norm2 = "post_attention_layernorm", norm3 = "pre_feedforward_layernorm",
                   norm4 = "post_feedforward_layernorm";
};

struct DecoderSpec {
  std::int64_t layers = 0, hidden = 0, vocabulary = 0, max_positions = 0;
  NormKind norm = NormKind::Rms;
  Residual residual = Residual::PreNorm;
  std::int64_t position_rows = 0;  // of a learned position table; 0 = none
  std::int64_t embed_dim = 0;      // of the embedding where it is projected to `hidden`; 0 = hidden
  bool embed_norm = false;
  bool scales_embedding = false;
  bool scales_residual = false;
  bool final_norm = true;
  bool tied = false;
  bool head_bias = false;
  bool softcaps_logits = false;
  bool scales_logits = false;
  LayerSpec layer;
  std::function<void(std::int64_t layer, LayerSpec&)> adjust;  // per-layer differences
  DecoderNames names;
};

ValueId apply_norm(GraphBuilder& b, ValueId x, std::string_view name, NormKind kind);
void build_decoder(GraphBuilder& b, const DecoderSpec& spec);
// The pieces, for architectures that differ between them.
ValueId decoder_layer(GraphBuilder& b, ValueId x, const DecoderSpec& spec, const LayerSpec& layer, std::int64_t index);
void decoder_head(GraphBuilder& b, ValueId x, ValueId table, const DecoderSpec& spec);
void state_facts(GraphBuilder& b, const DecoderSpec& spec);

// The fields nearly every decoder has, under their usual names, with the given defaults.
struct DecoderDefaults {
  std::int64_t vocabulary, hidden, intermediate, layers, heads;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;  // 0: hidden / heads
  std::int64_t max_positions = 2048;
  bool tied = false;
  std::string_view activation = "silu";
};
DecoderSpec usual_decoder(const Config& config, const DecoderDefaults& defaults);

// Layers marked "sliding_attention" (or "chunked_attention") in layer_types get the window; without layer_types, those
// for which `slides(layer)` holds.
void apply_layer_types(const Config& config, DecoderSpec& spec, std::int64_t window,
                       std::function<bool(std::int64_t)> slides);

// Which layers have experts: all but the first first_k_dense_replace (or what mlp_layer_types or mlp_only_layers say),
// in steps of decoder_sparse_step or moe_layer_freq.
void apply_dense_start(const Config& config, DecoderSpec& spec, std::int64_t dense_layers);
void apply_sparse_layers(const Config& config, DecoderSpec& spec);

}  // namespace forerun
