// OLMoE: experts in every layer, norms on the whole queries and keys.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_olmoe(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(
      config,
      {.vocabulary = 50304, .hidden = 2048, .intermediate = 2048, .layers = 16, .heads = 16, .max_positions = 4096});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.qk_norm = QkNorm::FullRms;
  attention.clips_qkv = config.has("clip_qkv");
  spec.layer.moe = {.experts = config.size({"num_experts", "num_local_experts"}, 64),
                    .top_k = config.size("num_experts_per_tok", 8),
                    .intermediate = spec.layer.mlp.intermediate,
                    .activation = spec.layer.mlp.activation};
  build_decoder(b, spec);
}

}  // namespace forerun
