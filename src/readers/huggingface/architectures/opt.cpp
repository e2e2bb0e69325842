// OPT: learned positions (two rows more than positions), biases everywhere, ReLU; 350m norms after its blocks.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_opt(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 50272,
                                            .hidden = 768,
                                            .intermediate = 3072,
                                            .layers = 12,
                                            .heads = 12,
                                            .max_positions = 2048,
                                            .tied = true,
                                            .activation = "relu"});
  const bool bias = config.flag("enable_bias", true);
  const bool pre_norm = config.flag("do_layer_norm_before", true);
  spec.embed_dim = config.size("word_embed_proj_dim", spec.hidden);
  spec.position_rows = spec.max_positions + 2;
  spec.norm = config.flag("layer_norm_elementwise_affine", true) ? NormKind::Layer : NormKind::LayerBare;
  spec.residual = pre_norm ? Residual::PreNorm : Residual::PostNorm;
  spec.final_norm = pre_norm && !config.flag("_remove_final_layer_norm", false);
  AttentionSpec& attention = spec.layer.attention;
  attention.head_dim = spec.hidden / attention.heads;
  attention.rotary_dim = 0;
  attention.kv_heads = attention.heads;
  attention.qkv_bias = attention.out_bias = bias;
  attention.out = "out_proj";
  spec.layer.mlp = {.intermediate = config.size("ffn_dim", 3072),
                    .gated = false,
                    .bias = bias,
                    .activation = config.text("activation_function", "relu"),
                    .up = "fc1",
                    .down = "fc2"};
  spec.names = {.embed = "model.decoder.embed_tokens",
                .positions = "model.decoder.embed_positions",
                .layers = "model.decoder.layers.",
                .final_norm = "model.decoder.final_layer_norm",
                .mlp = "",
                .norm1 = "self_attn_layer_norm",
                .norm2 = "final_layer_norm"};
  build_decoder(b, spec);
}

}  // namespace forerun
