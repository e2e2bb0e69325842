// GLM-4 (glm, glm4): fused gate-up projection, half of every head rotary, biases on q, k and v; glm4 norms the outputs
// too.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

namespace {

DecoderSpec glm_spec(const Config& config) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 151552,
                                            .hidden = 4096,
                                            .intermediate = 13696,
                                            .layers = 40,
                                            .heads = 32,
                                            .kv_heads = 2,
                                            .head_dim = 128,
                                            .max_positions = 131072});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = config.flag("attention_bias", true);
  attention.rotary_interleaved = true;
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.5));
  spec.layer.mlp.fused = true;
  spec.layer.mlp.up = "gate_up_proj";
  return spec;
}

}  // namespace

void build_glm(const Config& config, GraphBuilder& b) { build_decoder(b, glm_spec(config)); }

void build_glm4(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = glm_spec(config);
  spec.residual = Residual::Sandwich;
  spec.names.norm2 = "post_self_attn_layernorm";
  spec.names.norm3 = "post_attention_layernorm";
  spec.names.norm4 = "post_mlp_layernorm";
  build_decoder(b, spec);
}

}  // namespace forerun
