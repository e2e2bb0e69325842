// Qwen 3 MoE: RMS norms on query and key heads, routed experts only.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_qwen3_moe(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 151936,
                                            .hidden = 2048,
                                            .intermediate = 6144,
                                            .layers = 24,
                                            .heads = 32,
                                            .kv_heads = 4,
                                            .max_positions = 32768});
  const bool attention_bias = config.flag("attention_bias", false);
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = attention_bias;
  spec.layer.attention.qk_norm = QkNorm::HeadRms;
  if (config.flag("use_sliding_window", false)) spec.layer.attention.window = config.count("sliding_window", 4096);
  spec.layer.moe = {.experts = config.size({"num_experts", "num_local_experts"}, 128),
                    .top_k = config.size("num_experts_per_tok", 8),
                    .intermediate = config.size("moe_intermediate_size", 768),
                    .activation = spec.layer.mlp.activation};
  apply_sparse_layers(config, spec);
  build_decoder(b, spec);
}

}  // namespace forerun
