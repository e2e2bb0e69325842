// Gemma 2: norms before and after both blocks, every second layer slides, soft-capped scores (eager attention) and
// logits.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gemma2(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 256000,
                                            .hidden = 2304,
                                            .intermediate = 9216,
                                            .layers = 26,
                                            .heads = 8,
                                            .kv_heads = 4,
                                            .head_dim = 256,
                                            .max_positions = 8192,
                                            .tied = true,
                                            .activation = "gelu_pytorch_tanh"});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.eager = true;
  attention.softcaps = !config.states("attn_logit_softcapping") || config.has("attn_logit_softcapping");
  spec.softcaps_logits = !config.states("final_logit_softcapping") || config.has("final_logit_softcapping");
  spec.scales_embedding = true;
  spec.residual = Residual::Sandwich;
  apply_layer_types(config, spec, config.count("sliding_window", 4096),
                    [](std::int64_t layer) { return layer % 2 == 0; });
  build_decoder(b, spec);
}

}  // namespace forerun
