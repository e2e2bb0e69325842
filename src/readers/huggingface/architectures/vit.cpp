// ViT: patches through a convolution, a class token, learned positions, norms before the blocks, a pooler.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/vision_tower.hpp"

namespace forerun {

void build_vit(const Config& config, GraphBuilder& b) {
  VisionSpec spec;
  read_vision(config, spec);
  spec.qkv_bias = config.flag("qkv_bias", true);
  spec.names = {.class_token = "embeddings.cls_token",
                .patches = "embeddings.patch_embeddings.projection",
                .positions = "embeddings.position_embeddings",
                .layers = "layers.",
                .norm1 = "layernorm_before",
                .norm2 = "layernorm_after",
                .final_norm = "layernorm"};
  state_vision_facts(b, spec);
  ValueId x = vision_tower(b, spec);
  x = b.layer_norm(x, spec.names.final_norm);
  b.output(x, "last_hidden_state");
  const ValueId first = b.reshape(b.slice(x, 1, 0, 1), {b.run.batch, spec.hidden});
  const std::int64_t pooled = config.size("pooler_output_size", spec.hidden);
  b.output(b.activation(b.linear(first, "pooler.dense", pooled, true), config.text("pooler_act", "tanh")),
           "pooler_output");
}

}  // namespace forerun
