// Gemma 3 (text): five sliding layers to one full, RMS norms on query and key heads, norms around both blocks.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gemma3(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 262208,
                                            .hidden = 2304,
                                            .intermediate = 9216,
                                            .layers = 26,
                                            .heads = 8,
                                            .kv_heads = 4,
                                            .head_dim = 256,
                                            .max_positions = 131072,
                                            .tied = true,
                                            .activation = "gelu_pytorch_tanh"});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.qk_norm = QkNorm::HeadRms;
  attention.softcaps = config.has("attn_logit_softcapping");
  spec.softcaps_logits = config.has("final_logit_softcapping");
  spec.scales_embedding = true;
  spec.residual = Residual::Sandwich;
  const std::int64_t pattern = config.size({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  spec.adjust = [](std::int64_t, LayerSpec& layer) { layer.attention.rotary_set = "full"; };
  apply_layer_types(config, spec, config.count("sliding_window", 4096),
                    [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; });
  // Sliding layers rotate with other frequencies.
  spec.adjust = [inner = spec.adjust](std::int64_t i, LayerSpec& layer) {
    inner(i, layer);
    if (layer.attention.window > 0) layer.attention.rotary_set = "sliding";
  };
  build_decoder(b, spec);
}

}  // namespace forerun
