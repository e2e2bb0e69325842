// Llama 4 (text): experts on some layers with a shared one, bare RMS norms after rotary, chunked attention where rotary
// is on.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_llama4(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 202048,
                                            .hidden = 5120,
                                            .intermediate = 8192,
                                            .layers = 48,
                                            .heads = 40,
                                            .kv_heads = 8,
                                            .head_dim = 128,
                                            .max_positions = 131072});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.rotary_interleaved = attention.norm_after_rotary = true;
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size({"num_local_experts", "num_experts"}, 16);
  moe.top_k = config.size("num_experts_per_tok", 1);
  moe.intermediate = spec.layer.mlp.intermediate;
  moe.shared_intermediate = spec.layer.mlp.intermediate;
  moe.sigmoid_scores = true;
  moe.router = "router";
  moe.shared_name = "shared_expert";
  spec.layer.mlp.intermediate = config.size("intermediate_size_mlp", 16384);
  spec.names.mlp = spec.names.moe = "feed_forward.";
  const std::int64_t step = config.size("interleave_moe_layer_step", 1);
  const auto listed = config.integers("moe_layers");
  const auto no_rope = config.integers("no_rope_layers");
  const std::int64_t interval = config.size("no_rope_layer_interval", 4);
  const std::int64_t chunk = config.count("attention_chunk_size", 8192);
  const bool norms = config.flag("use_qk_norm", true);
  spec.adjust = [=](std::int64_t i, LayerSpec& layer) {
    bool is_moe = (i + 1) % step == 0;
    if (!listed.empty()) is_moe = std::find(listed.begin(), listed.end(), i) != listed.end();
    if (!is_moe) layer.moe.experts = 0;
    // The field lists 1 for layers with rotary embedding, despite its name.
    const bool has_rotary = std::size_t(i) < no_rope.size() ? no_rope[std::size_t(i)] != 0 : (i + 1) % interval != 0;
    if (has_rotary) {
      layer.attention.window = chunk;
      if (norms) layer.attention.qk_norm = QkNorm::HeadRmsBare;
    } else {
      layer.attention.rotary_dim = 0;
    }
  };
  build_decoder(b, spec);
}

}  // namespace forerun
