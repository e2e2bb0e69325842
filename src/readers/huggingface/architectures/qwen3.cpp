// Qwen 3: heads of 128, RMS norms on every query and key head.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_qwen3(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 151936,
                                            .hidden = 4096,
                                            .intermediate = 22016,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 32,
                                            .head_dim = 128,
                                            .max_positions = 32768});
  const bool attention_bias = config.flag("attention_bias", false);
  spec.layer.attention.qkv_bias = attention_bias;
  spec.layer.attention.out_bias = attention_bias;
  spec.layer.attention.qk_norm = QkNorm::HeadRms;
  const std::int64_t first = config.count("max_window_layers", 28);
  const std::int64_t window = config.flag("use_sliding_window", false) ? config.count("sliding_window", 4096) : 0;
  apply_layer_types(config, spec, window, [first](std::int64_t layer) { return layer >= first; });
  build_decoder(b, spec);
}

}  // namespace forerun
