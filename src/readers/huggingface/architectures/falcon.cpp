// Falcon: one key-value head (7b) or groups (40b, 180b), attention and MLP in parallel, rotary or ALiBi.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_falcon(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 65024,
                                            .hidden = 4544,
                                            .intermediate = 0,
                                            .layers = 32,
                                            .heads = 71,
                                            .tied = true,
                                            .activation = "gelu"});
  spec.hidden = config.size({"n_embed", "hidden_size"}, 4544);
  spec.layers = config.layers({"num_hidden_layers", "n_layer"}, 32);
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = config.size({"num_attention_heads", "n_head"}, 71);
  attention.head_dim = spec.hidden / attention.heads;
  const bool is_new = config.flag("new_decoder_architecture", false);
  const std::int64_t kv_heads = config.size({"num_kv_heads", "n_head_kv"}, attention.heads);
  attention.kv_heads = !is_new && config.flag("multi_query", true) ? 1 : is_new ? kv_heads : attention.heads;
  attention.has_alibi = config.flag("alibi", false);
  attention.rotary_dim = attention.has_alibi ? 0 : attention.head_dim;
  attention.fused_qkv = true;
  attention.qkv_bias = attention.out_bias = config.flag("bias", false);
  attention.qkv = "query_key_value";
  attention.out = "dense";
  spec.layer.mlp = {.intermediate = config.size("ffn_hidden_size", 4 * spec.hidden),
                    .gated = false,
                    .bias = config.flag("bias", false),
                    .activation = config.text("activation", "gelu"),
                    .up = "dense_h_to_4h",
                    .down = "dense_4h_to_h"};
  spec.norm = NormKind::Layer;
  const std::int64_t norms = config.size("num_ln_in_parallel_attn", is_new ? 2 : 1);
  spec.names = {.embed = "transformer.word_embeddings",
                .layers = "transformer.h.",
                .final_norm = "transformer.ln_f",
                .attention = "self_attention."};
  if (!config.flag("parallel_attn", true)) {
    spec.residual = Residual::PreNorm;
  } else if (norms == 2) {
    spec.residual = Residual::ParallelTwoNorms;
    spec.names.norm1 = "ln_attn";
    spec.names.norm2 = "ln_mlp";
  } else {
    spec.residual = Residual::Parallel;
  }
  build_decoder(b, spec);
}

}  // namespace forerun
