// GPT-J: attention and MLP in parallel behind one norm, interleaved rotary on 64 dimensions, eager attention.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gptj(const Config& config, GraphBuilder& b) {
  DecoderSpec spec;
  spec.vocabulary = config.size("vocab_size", 50400);
  spec.hidden = config.size({"n_embd", "hidden_size"}, 4096);
  spec.layers = config.layers({"n_layer", "num_hidden_layers"}, 28);
  spec.max_positions = config.size({"n_positions", "max_position_embeddings"}, 2048);
  spec.tied = config.flag("tie_word_embeddings", false);
  spec.head_bias = true;
  spec.norm = NormKind::Layer;
  spec.residual = Residual::Parallel;
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = attention.kv_heads = config.size({"n_head", "num_attention_heads"}, 16);
  attention.head_dim = spec.hidden / attention.heads;
  attention.rotary_dim = config.count("rotary_dim", 64);
  attention.rotary_interleaved = true;
  attention.eager = true;
  attention.out = "out_proj";
  spec.layer.mlp = {.intermediate = config.size("n_inner", 4 * spec.hidden),
                    .gated = false,
                    .bias = true,
                    .activation = config.text("activation_function", "gelu_new"),
                    .up = "fc_in",
                    .down = "fc_out"};
  spec.names = {.embed = "transformer.wte",
                .layers = "transformer.h.",
                .final_norm = "transformer.ln_f",
                .attention = "attn.",
                .norm1 = "ln_1"};
  build_decoder(b, spec);
}

}  // namespace forerun
