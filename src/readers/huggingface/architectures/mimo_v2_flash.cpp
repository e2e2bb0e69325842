// MiMo V2 Flash: five sliding layers to one full; sliding layers have twice the key-value heads and attention sinks.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_mimo_v2_flash(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 152576,
                                            .hidden = 4096,
                                            .intermediate = 16384,
                                            .layers = 48,
                                            .heads = 64,
                                            .kv_heads = 4,
                                            .head_dim = 192,
                                            .max_positions = 131072});
  AttentionSpec& attention = spec.layer.attention;
  attention.value_dim = config.size("v_head_dim", 128);
  attention.qkv_bias = config.flag("attention_bias", false);
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.334)) / 2 * 2;
  attention.eager = true;
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size("n_routed_experts", 256);
  moe.top_k = config.size("num_experts_per_tok", 8);
  moe.intermediate = config.size("moe_intermediate_size", 2048);
  moe.shared_intermediate = config.count("n_shared_experts", 0) * moe.intermediate;
  moe.sigmoid_scores = moe.score_correction = true;
  moe.activation = spec.layer.mlp.activation;
  apply_dense_start(config, spec, 1);
  const std::int64_t window = config.has("sliding_window_size") ? config.size("sliding_window_size", 128) + 1
                                                                : config.size("sliding_window", 129);
  const auto pattern = config.integers("hybrid_layer_pattern");  // 1 for sliding layers
  apply_layer_types(config, spec, window, [pattern](std::int64_t i) {
    return std::size_t(i) < pattern.size() ? pattern[std::size_t(i)] == 1 : i != 0 && (i + 1) % 6 != 0;
  });
  const std::int64_t sliding_heads = config.size("swa_num_key_value_heads", 2 * attention.kv_heads);
  spec.adjust = [sliding_heads, inner = spec.adjust](std::int64_t i, LayerSpec& layer) {
    inner(i, layer);
    layer.attention.rotary_set = layer.attention.window > 0 ? "sliding" : "full";
    if (layer.attention.window > 0) {
      layer.attention.kv_heads = sliding_heads;
      layer.attention.has_sinks = true;
    }
  };
  build_decoder(b, spec);
}

}  // namespace forerun
