// GPT-Neo: learned positions, every second layer sees a local window, unscaled eager attention.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gpt_neo(const Config& config, GraphBuilder& b) {
  DecoderSpec spec;
  spec.vocabulary = config.size("vocab_size", 50257);
  spec.hidden = config.size("hidden_size", 2048);
  spec.layers = config.layers({"num_layers", "num_hidden_layers"}, 24);
  spec.max_positions = config.size("max_position_embeddings", 2048);
  spec.position_rows = spec.max_positions;
  spec.tied = config.flag("tie_word_embeddings", true);
  spec.norm = NormKind::Layer;
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = attention.kv_heads = config.size({"num_heads", "num_attention_heads"}, 16);
  attention.head_dim = spec.hidden / attention.heads;
  attention.out_bias = attention.eager = true;
  attention.out = "out_proj";
  spec.layer.mlp = {.intermediate = config.size("intermediate_size", 4 * spec.hidden),
                    .gated = false,
                    .bias = true,
                    .activation = config.text("activation_function", "gelu_new"),
                    .up = "c_fc",
                    .down = "c_proj"};
  spec.names = {.embed = "transformer.wte",
                .positions = "transformer.wpe",
                .layers = "transformer.h.",
                .final_norm = "transformer.ln_f",
                .attention = "attn.attention.",
                .norm1 = "ln_1",
                .norm2 = "ln_2"};
  const auto kinds = config.texts("attention_layers");
  const std::int64_t window = config.size("window_size", 256);
  // The cache keeps every token of local layers too; only the mask is local.
  spec.adjust = [kinds, window](std::int64_t layer, LayerSpec& one) {
    const bool is_local =
        kinds.empty() ? layer % 2 == 1 : std::size_t(layer) < kinds.size() && kinds[std::size_t(layer)] == "local";
    if (is_local) one.attention.window = window;
  };
  build_decoder(b, spec);
}

}  // namespace forerun
