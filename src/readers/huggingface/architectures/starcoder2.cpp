// StarCoder 2: layer norms, biases, plain tanh-GeLU MLP, grouped queries.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_starcoder2(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 49152,
                                            .hidden = 3072,
                                            .intermediate = 12288,
                                            .layers = 30,
                                            .heads = 24,
                                            .kv_heads = 2,
                                            .max_positions = 4096,
                                            .tied = true,
                                            .activation = "gelu_pytorch_tanh"});
  const bool bias = config.flag("use_bias", true);
  spec.norm = NormKind::Layer;
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = bias;
  spec.layer.attention.window = config.count("sliding_window", 0);
  spec.layer.mlp.gated = false;
  spec.layer.mlp.bias = bias;
  spec.layer.mlp.up = "c_fc";
  spec.layer.mlp.down = "c_proj";
  build_decoder(b, spec);
}

}  // namespace forerun
