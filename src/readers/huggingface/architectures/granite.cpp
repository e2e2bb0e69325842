// Granite 3: Llama with multipliers on embeddings, residuals and logits; with experts under granitemoe.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_granite(const Config& config, GraphBuilder& b) {
  DecoderSpec spec =
      usual_decoder(config, {.vocabulary = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32, .heads = 32});
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  spec.scales_embedding = spec.scales_residual = spec.scales_logits = true;
  build_decoder(b, spec);
}

void build_granitemoe(const Config& config, GraphBuilder& b) {
  DecoderSpec spec =
      usual_decoder(config, {.vocabulary = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32, .heads = 32});
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.scales_embedding = spec.scales_residual = spec.scales_logits = true;
  spec.layer.moe = {.experts = config.size({"num_local_experts", "num_experts"}, 8),
                    .top_k = config.size("num_experts_per_tok", 2),
                    .intermediate = spec.layer.mlp.intermediate,
                    .activation = spec.layer.mlp.activation,
                    .router = "router.layer"};
  spec.names.moe = "block_sparse_moe.";
  build_decoder(b, spec);
}

}  // namespace forerun
