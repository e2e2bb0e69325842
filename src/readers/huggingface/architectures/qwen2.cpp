// Qwen 2 and 2.5: Llama with biases on the query, key and value projections.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_qwen2(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 151936,
                                            .hidden = 4096,
                                            .intermediate = 22016,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 32,
                                            .max_positions = 32768});
  spec.layer.attention.qkv_bias = true;
  const std::int64_t first = config.count("max_window_layers", 28);
  const std::int64_t window = config.flag("use_sliding_window", false) ? config.count("sliding_window", 4096) : 0;
  apply_layer_types(config, spec, window, [first](std::int64_t layer) { return layer >= first; });
  build_decoder(b, spec);
}

}  // namespace forerun
