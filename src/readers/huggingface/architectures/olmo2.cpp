// OLMo 2 and 3: norms on the outputs of both blocks and on the whole queries and keys; OLMo 3 slides in three layers of
// four.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

namespace {

DecoderSpec olmo2_spec(const Config& config) {
  DecoderSpec spec =
      usual_decoder(config, {.vocabulary = 50304, .hidden = 4096, .intermediate = 11008, .layers = 32, .heads = 32});
  spec.residual = Residual::NormedOutputs;
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.layer.attention.qk_norm = QkNorm::FullRms;
  return spec;
}

}  // namespace

void build_olmo2(const Config& config, GraphBuilder& b) { build_decoder(b, olmo2_spec(config)); }

void build_olmo3(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = olmo2_spec(config);
  apply_layer_types(config, spec, config.count("sliding_window", 4096),
                    [](std::int64_t layer) { return (layer + 1) % 4 != 0; });
  build_decoder(b, spec);
}

}  // namespace forerun
