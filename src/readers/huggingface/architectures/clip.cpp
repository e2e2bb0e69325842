// CLIP: a vision tower and a causal text tower, both projected to one space; logits are their products.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/clip_text.hpp"
#include "readers/huggingface/vision_tower.hpp"

namespace forerun {

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
  const ValueId states = clip_text_states(text, b);
  ValueId words = kNoValue;
  {
    const Scope scope(b, "text_model.");
    words = b.slice(states, 1, b.dims(states)[1] - 1, 1);
    words = b.reshape(words, {b.run.batch, b.last_dim(states)});
  }
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
