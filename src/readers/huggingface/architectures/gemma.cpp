// Gemma 1: heads of 256, tanh-approximated GeLU gates, embeddings scaled by sqrt(hidden) and tied to the head.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gemma(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 256000,
                                            .hidden = 3072,
                                            .intermediate = 24576,
                                            .layers = 28,
                                            .heads = 16,
                                            .kv_heads = 16,
                                            .head_dim = 256,
                                            .max_positions = 8192,
                                            .tied = true,
                                            .activation = "gelu_pytorch_tanh"});
  const bool attention_bias = config.flag("attention_bias", false);
  spec.layer.attention.qkv_bias = attention_bias;
  spec.layer.attention.out_bias = attention_bias;
  spec.layer.mlp.activation = "gelu_pytorch_tanh";  // whatever hidden_act says
  spec.scales_embedding = true;
  build_decoder(b, spec);
}

}  // namespace forerun
