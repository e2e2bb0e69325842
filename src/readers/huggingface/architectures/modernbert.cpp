// ModernBERT: norms before the blocks (none before the first attention), rotary, gated GeLU, local attention in two
// layers of three.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_modernbert(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.vocabulary = 50368;
  spec.intermediate = 1152;
  spec.layers = 22;
  spec.max_positions = 8192;
  spec.type_vocabulary = 0;
  spec.attention.heads = 12;
  read_usual_encoder(config, spec);
  AttentionSpec& attention = spec.attention;
  attention.fused_qkv = true;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.rotary_dim = attention.head_dim;
  attention.qkv = "attn.Wqkv";
  attention.out = "attn.Wo";
  const bool norm_bias = config.flag("norm_bias", false);
  const MlpSpec feed_forward{.intermediate = spec.intermediate,
                             .gated = true,
                             .fused = true,
                             .bias = config.flag("mlp_bias", false),
                             .activation = config.text("hidden_activation", "gelu"),
                             .up = "mlp.Wi",
                             .down = "mlp.Wo"};
  const std::int64_t local = config.count("local_attention", 128);
  const std::int64_t every = config.size("global_attn_every_n_layers", 3);
  const auto types = config.texts("layer_types");
  state_encoder_facts(b, spec);
  const ValueId ids = b.input("input_ids", DType::Int64, {b.run.batch, b.run.tokens});
  ValueId x = b.embedding(b.parameter("embeddings.tok_embeddings.weight", {spec.vocabulary, spec.hidden}), ids);
  x = b.layer_norm(x, "embeddings.norm", true, norm_bias);
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    const Scope scope(b, "layers." + std::to_string(i) + ".");
    AttentionSpec one = attention;
    const bool is_local =
        types.empty() ? i % every != 0 : std::size_t(i) < types.size() && types[std::size_t(i)] == "sliding_attention";
    one.rotary_set = is_local ? "local" : "global";
    if (is_local) one.window = local + 1;  // half to each side, and the token itself
    const ValueId normed = i == 0 ? x : b.layer_norm(x, "attn_norm", true, norm_bias);
    x = b.add(x, self_attention(b, normed, one, i));
    x = b.add(x, mlp(b, b.layer_norm(x, "mlp_norm", true, norm_bias), feed_forward));
  }
  b.output(b.layer_norm(x, "final_norm", true, norm_bias), "last_hidden_state");
}

}  // namespace forerun
