// Llama 1 to 3 and what shares its structure under the same model_type: RMS norms, rotary, grouped queries, gated SiLU.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_llama(const Config& config, GraphBuilder& b) {
  DecoderSpec spec =
      usual_decoder(config, {.vocabulary = 32000, .hidden = 4096, .intermediate = 11008, .layers = 32, .heads = 32});
  const bool attention_bias = config.flag("attention_bias", false);
  spec.layer.attention.qkv_bias = attention_bias;
  spec.layer.attention.out_bias = attention_bias;
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  build_decoder(b, spec);
}

}  // namespace forerun
