// GLM-4.5 to 4.7: grouped-query attention, experts routed by sigmoid scores, a shared expert, dense first layers.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_glm4_moe(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 151552,
                                            .hidden = 4096,
                                            .intermediate = 10944,
                                            .layers = 46,
                                            .heads = 96,
                                            .kv_heads = 8,
                                            .max_positions = 131072});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = config.flag("attention_bias", false);
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.5));
  if (config.flag("use_qk_norm", false)) attention.qk_norm = QkNorm::HeadRms;
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size({"n_routed_experts", "num_experts"}, 128);
  moe.top_k = config.size("num_experts_per_tok", 8);
  moe.intermediate = config.size("moe_intermediate_size", 1408);
  moe.shared_intermediate = config.count("n_shared_experts", 1) * moe.intermediate;
  moe.sigmoid_scores = moe.score_correction = true;
  moe.activation = spec.layer.mlp.activation;
  apply_dense_start(config, spec, 1);
  build_decoder(b, spec);
}

}  // namespace forerun
