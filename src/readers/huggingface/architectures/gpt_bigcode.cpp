// GPT-BigCode (StarCoder 1, SantaCoder): GPT-2 with one key-value head for all queries.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gpt_bigcode(const Config& config, GraphBuilder& b) {
  DecoderSpec spec;
  spec.vocabulary = config.size("vocab_size", 50257);
  spec.hidden = config.size({"n_embd", "hidden_size"}, 768);
  spec.layers = config.layers({"n_layer", "num_hidden_layers"}, 12);
  spec.max_positions = config.size({"n_positions", "max_position_embeddings"}, 1024);
  spec.position_rows = spec.max_positions;
  spec.tied = config.flag("tie_word_embeddings", true);
  spec.norm = NormKind::Layer;
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = config.size({"n_head", "num_attention_heads"}, 12);
  attention.kv_heads = config.flag("multi_query", true) ? 1 : attention.heads;
  attention.head_dim = spec.hidden / attention.heads;
  attention.fused_qkv = attention.qkv_bias = attention.out_bias = true;
  attention.qkv = "c_attn";
  attention.out = "c_proj";
  spec.layer.mlp = {.intermediate = config.size("n_inner", 4 * spec.hidden),
                    .gated = false,
                    .bias = true,
                    .activation = config.text("activation_function", "gelu_pytorch_tanh"),
                    .up = "c_fc",
                    .down = "c_proj"};
  spec.names = {.embed = "transformer.wte",
                .positions = "transformer.wpe",
                .layers = "transformer.h.",
                .final_norm = "transformer.ln_f",
                .attention = "attn.",
                .norm1 = "ln_1",
                .norm2 = "ln_2"};
  build_decoder(b, spec);
}

}  // namespace forerun
