// ALBERT: layers share the weights of their group; embeddings are narrow.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_albert(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.vocabulary = 30000;
  spec.hidden = 4096;
  spec.intermediate = 16384;
  spec.activation = "gelu_new";
  spec.attention.heads = 64;
  read_usual_encoder(config, spec);
  spec.embedding = config.size("embedding_size", 128);
  spec.names.projection = "encoder.embedding_hidden_mapping_in";
  spec.names.attention_out = "attention.dense";
  spec.names.attention_norm = "attention.LayerNorm";
  spec.names.up = "ffn";
  spec.names.down = "ffn_output";
  spec.names.out_norm = "full_layer_layer_norm";
  spec.names.pooler = "pooler";
  spec.attention.q = "attention.query";
  spec.attention.k = "attention.key";
  spec.attention.v = "attention.value";
  const std::int64_t groups = config.size("num_hidden_groups", 1);
  const std::int64_t inner = config.size("inner_group_num", 1);
  if (spec.layers * inner > kMaxLayers) {
    config.fail("inner_group_num asks for more than " + std::to_string(kMaxLayers) + " layers");
    return;
  }
  b.reuses_names = true;
  state_encoder_facts(b, spec);
  ValueId x = encoder_embeddings(b, spec);
  if (spec.embedding == spec.hidden) x = b.linear(x, spec.names.projection, spec.hidden, true);
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    const std::string group =
        "encoder.albert_layer_groups." + std::to_string(i * groups / spec.layers) + ".albert_layers.";
    for (std::int64_t j = 0; j < inner; ++j) {
      spec.layer_scope = [&group, j](std::int64_t) { return group + std::to_string(j) + "."; };
      x = encoder_layer(b, x, spec, i);
    }
  }
  b.output(x, "last_hidden_state");
  const ValueId first = b.reshape(b.slice(x, 1, 0, 1), {b.run.batch, spec.hidden});
  b.output(b.unary(OpKind::Tanh, b.linear(first, spec.names.pooler, spec.hidden, true)), "pooler_output");
}

}  // namespace forerun
