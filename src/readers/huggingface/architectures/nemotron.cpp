// Nemotron 4 and Minitron: layer norms, squared ReLU without a gate, half of every head rotary.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_nemotron(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 256000,
                                            .hidden = 6144,
                                            .intermediate = 24576,
                                            .layers = 32,
                                            .heads = 48,
                                            .max_positions = 4096,
                                            .activation = "relu2"});
  spec.norm = NormKind::Layer;
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.5, "rope_percent"));
  spec.layer.mlp.gated = false;
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  build_decoder(b, spec);
}

}  // namespace forerun
