// Seed-OSS: Llama with biases on the query, key and value projections and heads of 128.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_seed_oss(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 155136,
                                            .hidden = 4096,
                                            .intermediate = 27648,
                                            .layers = 64,
                                            .heads = 80,
                                            .kv_heads = 8,
                                            .head_dim = 128,
                                            .max_positions = 524288});
  spec.layer.attention.qkv_bias = config.flag("attention_bias", true);
  spec.layer.attention.out_bias = config.flag("attention_out_bias", false);
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  build_decoder(b, spec);
}

}  // namespace forerun
