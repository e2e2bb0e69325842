// BLOOM: ALiBi instead of positions, a norm on the embeddings, fused projection, eager attention.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_bloom(const Config& config, GraphBuilder& b) {
  DecoderSpec spec;
  spec.vocabulary = config.size("vocab_size", 250880);
  spec.hidden = config.size({"n_embed", "hidden_size"}, 64);
  spec.layers = config.layers({"n_layer", "num_hidden_layers"}, 2);
  spec.max_positions = config.count("seq_length", 2048);
  spec.tied = config.flag("tie_word_embeddings", true);
  spec.norm = NormKind::Layer;
  spec.embed_norm = true;
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = attention.kv_heads = config.size({"n_head", "num_attention_heads"}, 8);
  attention.head_dim = spec.hidden / attention.heads;
  attention.fused_qkv = attention.qkv_bias = attention.out_bias = true;
  attention.has_alibi = attention.eager = true;
  attention.qkv = "query_key_value";
  attention.out = "dense";
  spec.layer.mlp = {.intermediate = 4 * spec.hidden,
                    .gated = false,
                    .bias = true,
                    .activation = "gelu_new",
                    .up = "dense_h_to_4h",
                    .down = "dense_4h_to_h"};
  spec.names = {.embed = "transformer.word_embeddings",
                .layers = "transformer.h.",
                .final_norm = "transformer.ln_f",
                .attention = "self_attention."};
  build_decoder(b, spec);
}

}  // namespace forerun
