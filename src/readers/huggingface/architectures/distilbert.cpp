// DistilBERT: BERT without token types and pooler, under names of its own.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_distilbert(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  read_usual_encoder(config, spec);
  spec.hidden = config.size({"dim", "hidden_size"}, 768);
  spec.layers = config.layers({"n_layers", "num_hidden_layers"}, 6);
  spec.intermediate = config.size("hidden_dim", 3072);
  spec.activation = config.text("activation", "gelu");
  spec.type_vocabulary = 0;
  spec.has_pooler = false;
  AttentionSpec& attention = spec.attention;
  attention.heads = attention.kv_heads = config.size({"n_heads", "num_attention_heads"}, 12);
  attention.head_dim = spec.hidden / attention.heads;
  attention.q = "attention.q_lin";
  attention.k = "attention.k_lin";
  attention.v = "attention.v_lin";
  spec.names.layers = "transformer.layer.";
  spec.names.attention_out = "attention.out_lin";
  spec.names.attention_norm = "sa_layer_norm";
  spec.names.up = "ffn.lin1";
  spec.names.down = "ffn.lin2";
  spec.names.out_norm = "output_layer_norm";
  build_encoder(b, spec);
}

}  // namespace forerun
