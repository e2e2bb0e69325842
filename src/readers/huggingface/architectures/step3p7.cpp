// Step 3.7 Flash: grouped queries with normed heads and a gate per head, three sliding layers to one full, 288 experts
// with a shared one.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_step3p7(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 128896,
                                            .hidden = 4096,
                                            .intermediate = 11264,
                                            .layers = 45,
                                            .heads = 64,
                                            .kv_heads = 8,
                                            .head_dim = 128,
                                            .max_positions = 65536});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.qk_norm = QkNorm::HeadRms;
  attention.head_gate = true;
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(1.0));
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size({"num_experts", "moe_num_experts"}, 288);
  moe.top_k = config.size({"num_experts_per_tok", "moe_top_k"}, 8);
  moe.intermediate = config.size("moe_intermediate_size", 1280);
  moe.shared_intermediate = config.count({"share_expert_dim", "share_expert_dims"}, 1280);
  moe.sigmoid_scores = true;
  moe.score_correction = config.flag("use_moe_router_bias", true);
  moe.shared_name = "share_expert";
  apply_dense_start(config, spec, 3);
  apply_layer_types(config, spec, config.count("sliding_window", 512), [](std::int64_t i) { return i % 4 != 0; });
  const auto heads = config.integers("num_attention_heads_per_layer");
  if (!heads.empty()) {
    spec.adjust = [heads, inner = spec.adjust](std::int64_t i, LayerSpec& layer) {
      inner(i, layer);
      if (std::size_t(i) < heads.size() && heads[std::size_t(i)] > 0) layer.attention.heads = heads[std::size_t(i)];
    };
  }
  build_decoder(b, spec);
}

}  // namespace forerun
