// Phi 1 to 2: attention and MLP in parallel behind one layer norm, half of every head rotary, biases everywhere.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_phi(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(
      config,
      {.vocabulary = 51200, .hidden = 2048, .intermediate = 8192, .layers = 24, .heads = 32, .activation = "gelu_new"});
  spec.norm = NormKind::Layer;
  spec.residual = Residual::Parallel;
  spec.head_bias = true;
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = true;
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.5));
  if (config.flag("qk_layernorm", false)) {
    attention.qk_norm = QkNorm::HeadLayer;
    attention.norm_bias = true;
    attention.q_norm = "q_layernorm";
    attention.k_norm = "k_layernorm";
  }
  attention.out = "dense";
  spec.layer.mlp.gated = false;
  spec.layer.mlp.bias = true;
  spec.layer.mlp.up = "fc1";
  spec.layer.mlp.down = "fc2";
  spec.names.final_norm = "model.final_layernorm";
  build_decoder(b, spec);
}

}  // namespace forerun
