// Phi-3.5-MoE and Phi-mini-MoE: Mixtral with layer norms and biases.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_phimoe(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 32064,
                                            .hidden = 4096,
                                            .intermediate = 6400,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 8,
                                            .max_positions = 131072});
  spec.norm = NormKind::Layer;
  const bool attention_bias = config.flag("attention_bias", false);
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = attention_bias;
  spec.layer.attention.window = config.count("sliding_window", 0);
  spec.head_bias = config.flag("lm_head_bias", false);
  spec.layer.moe = {.experts = config.size({"num_local_experts", "num_experts"}, 16),
                    .top_k = config.size("num_experts_per_tok", 2),
                    .intermediate = spec.layer.mlp.intermediate,
                    .activation = spec.layer.mlp.activation};
  spec.names.moe = "block_sparse_moe.";
  build_decoder(b, spec);
}

}  // namespace forerun
