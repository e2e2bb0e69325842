// SmolLM 3: Llama with every fourth layer without rotary embedding.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_smollm3(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 128256,
                                            .hidden = 2048,
                                            .intermediate = 11008,
                                            .layers = 36,
                                            .heads = 16,
                                            .kv_heads = 4,
                                            .max_positions = 32768,
                                            .tied = true});
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  const auto listed = config.integers("no_rope_layers");
  const std::int64_t interval = config.size("no_rope_layer_interval", 4);
  spec.adjust = [listed, interval](std::int64_t i, LayerSpec& layer) {
    const bool has_rotary = std::size_t(i) < listed.size() ? listed[std::size_t(i)] != 0 : (i + 1) % interval != 0;
    if (!has_rotary) layer.attention.rotary_dim = 0;
  };
  const std::int64_t window = config.flag("use_sliding_window", false) ? config.count("sliding_window", 0) : 0;
  apply_layer_types(config, spec, window, [](std::int64_t) { return true; });
  build_decoder(b, spec);
}

}  // namespace forerun
