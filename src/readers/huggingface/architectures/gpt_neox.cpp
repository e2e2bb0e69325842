// GPT-NeoX and Pythia: attention and MLP in parallel with a norm each, a quarter of every head rotary.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gpt_neox(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(
      config,
      {.vocabulary = 50432, .hidden = 6144, .intermediate = 24576, .layers = 44, .heads = 64, .activation = "gelu"});
  spec.norm = NormKind::Layer;
  spec.residual = config.flag("use_parallel_residual", true) ? Residual::ParallelTwoNorms : Residual::PreNorm;
  AttentionSpec& attention = spec.layer.attention;
  attention.kv_heads = attention.heads;
  attention.fused_qkv = true;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", true);
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.25, "rotary_pct"));
  attention.qkv = "query_key_value";
  attention.out = "dense";
  spec.layer.mlp.gated = false;
  spec.layer.mlp.bias = true;
  spec.layer.mlp.up = "dense_h_to_4h";
  spec.layer.mlp.down = "dense_4h_to_h";
  spec.names = {.embed = "gpt_neox.embed_in",
                .layers = "gpt_neox.layers.",
                .final_norm = "gpt_neox.final_layer_norm",
                .head = "embed_out",
                .attention = "attention."};
  build_decoder(b, spec);
}

}  // namespace forerun
