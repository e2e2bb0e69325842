// CLIP: a vision tower and a causal text tower, both projected to one space; logits are their products.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/feed_forward.hpp"
#include "readers/huggingface/vision_tower.hpp"

namespace forerun {
namespace {

ValueId text_tower(const Config& config, GraphBuilder& b, std::int64_t& hidden) {
  hidden = config.size("hidden_size", 512);
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
  x = b.layer_norm(x, "final_layer_norm");
  return b.reshape(b.slice(x, 1, tokens - 1, 1), {b.run.batch, hidden});
}

}  // namespace

void build_clip(const Config& config, GraphBuilder& b) {
  const Config vision = config.sub("vision_config"), text = config.sub("text_config");
  VisionSpec spec;
  spec.patch = 32;
  spec.activation = "quick_gelu";
  read_vision(vision, spec);
  spec.patch_bias = false;
  spec.pre_norm = true;
  spec.names = {.class_token = "vision_model.embeddings.class_embedding",
                .patches = "vision_model.embeddings.patch_embedding",
                .positions = "vision_model.embeddings.position_embedding.weight",
                .layers = "vision_model.encoder.layers.",
                .norm1 = "layer_norm1",
                .norm2 = "layer_norm2",
                .out = "out_proj"};
  state_vision_facts(b, spec);
  const std::int64_t projected = config.size("projection_dim", 512);
  std::int64_t text_hidden = 0;
  const ValueId words = text_tower(text, b, text_hidden);
  ValueId x = vision_tower(b, spec);
  const ValueId image =
      b.layer_norm(b.reshape(b.slice(x, 1, 0, 1), {b.run.batch, spec.hidden}), "vision_model.post_layernorm");
  const ValueId image_embeds = b.linear(image, "visual_projection", projected, false);
  const ValueId text_embeds = b.linear(words, "text_projection", projected, false);
  const ValueId scale = b.parameter("logit_scale", {});
  const ValueId logits = b.matmul(text_embeds, b.transpose(image_embeds, {1, 0}));
  b.output(b.mul(logits, scale), "logits_per_text");
}

}  // namespace forerun
