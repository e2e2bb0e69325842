// Command-R: attention and MLP in parallel behind one bias-free layer norm, tied and scaled logits; Cohere 2 slides in
// three layers of four.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

namespace {

DecoderSpec cohere_spec(const Config& config) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 256000,
                                            .hidden = 8192,
                                            .intermediate = 22528,
                                            .layers = 40,
                                            .heads = 64,
                                            .max_positions = 8192,
                                            .tied = true});
  spec.norm = NormKind::LayerNoBias;
  spec.residual = Residual::Parallel;
  spec.scales_logits = true;
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.rotary_interleaved = true;
  if (config.flag("use_qk_norm", false)) attention.qk_norm = QkNorm::PerHeadLayer;
  return spec;
}

}  // namespace

void build_cohere(const Config& config, GraphBuilder& b) { build_decoder(b, cohere_spec(config)); }

void build_cohere2(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = cohere_spec(config);
  const std::int64_t pattern = config.size("sliding_window_pattern", 4);
  apply_layer_types(config, spec, config.count("sliding_window", 4096),
                    [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; });
  // Full layers have no rotary embedding.
  spec.adjust = [inner = spec.adjust](std::int64_t i, LayerSpec& layer) {
    if (inner) inner(i, layer);
    if (layer.attention.window == 0) layer.attention.rotary_dim = 0;
  };
  build_decoder(b, spec);
}

}  // namespace forerun
