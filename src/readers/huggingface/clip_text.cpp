#include "readers/huggingface/clip_text.hpp"

#include <algorithm>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/feed_forward.hpp"

namespace forerun {

ValueId clip_text_states(const Config& config, GraphBuilder& b) {
  const std::int64_t hidden = config.size("hidden_size", 512);
  const std::int64_t vocabulary = config.size("vocab_size", 49408), rows = config.size("max_position_embeddings", 77);
  const std::int64_t tokens = std::min(b.run.tokens, rows);
  AttentionSpec attention;
  attention.heads = attention.kv_heads = config.size("num_attention_heads", 8);
  attention.head_dim = std::max<std::int64_t>(hidden / attention.heads, 1);
  attention.qkv_bias = attention.out_bias = true;
  attention.uses_cache = false;
  attention.out = "out_proj";
  const MlpSpec feed_forward{.intermediate = config.size("intermediate_size", 2048),
                             .gated = false,
                             .bias = true,
                             .activation = config.text("hidden_act", "quick_gelu"),
                             .up = "mlp.fc1",
                             .down = "mlp.fc2"};
  const Scope scope(b, "text_model.");
  const ValueId ids = b.input("input_ids", DType::Int64, {b.run.batch, tokens});
  ValueId x = b.embedding(b.parameter("embeddings.token_embedding.weight", {vocabulary, hidden}), ids);
  const ValueId where = b.reshape(b.positions(0, tokens), {1, tokens});
  x = b.add(x, b.embedding(b.parameter("embeddings.position_embedding.weight", {rows, hidden}), where));
  const std::int64_t layers = config.layers("num_hidden_layers", 12);
  for (std::int64_t i = 0; i < layers; ++i) {
    const Scope layer(b, "encoder.layers." + std::to_string(i) + ".");
    const ValueId normed = b.layer_norm(x, "layer_norm1");
    {
      const Scope module(b, "self_attn.");
      x = b.add(x, self_attention(b, normed, attention, i));
    }
    x = b.add(x, mlp(b, b.layer_norm(x, "layer_norm2"), feed_forward));
  }
  return b.layer_norm(x, "final_layer_norm");
}

}  // namespace forerun
