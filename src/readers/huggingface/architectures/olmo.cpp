// OLMo 1: Llama with layer norms that have no weights.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_olmo(const Config& config, GraphBuilder& b) {
  DecoderSpec spec =
      usual_decoder(config, {.vocabulary = 50304, .hidden = 4096, .intermediate = 11008, .layers = 32, .heads = 32});
  spec.norm = NormKind::LayerBare;
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.layer.attention.clips_qkv = config.has("clip_qkv");
  build_decoder(b, spec);
}

}  // namespace forerun
