// Switch Transformers: T5 whose every n-th layer sends each token to one of many experts; and mT5, UMT5.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/t5_stack.hpp"

namespace forerun {

void build_switch_transformers(const Config& config, GraphBuilder& b) {
  T5Spec spec;
  spec.hidden = 768;
  spec.heads = 12;
  spec.encoder_layers = spec.decoder_layers = 12;
  read_t5(config, spec);
  spec.activation = config.text("dense_act_fn", "relu");
  spec.experts = config.count("num_experts", 8);
  const std::int64_t sparse_encoder = config.count("num_sparse_encoder_layers", 3);
  const std::int64_t sparse_decoder = config.count("num_sparse_decoder_layers", 3);
  spec.encoder_sparse_step = sparse_encoder > 0 ? spec.encoder_layers / sparse_encoder : 0;
  spec.decoder_sparse_step = sparse_decoder > 0 ? spec.decoder_layers / sparse_decoder : 0;
  build_t5_stack(b, spec);
}

void build_mt5(const Config& config, GraphBuilder& b) {
  T5Spec spec;
  spec.vocabulary = 250112;
  spec.intermediate = 1024;
  spec.encoder_layers = 8;
  spec.heads = 6;
  spec.gated = true;
  read_t5(config, spec);
  build_t5_stack(b, spec);
}

void build_umt5(const Config& config, GraphBuilder& b) {
  T5Spec spec;
  spec.vocabulary = 250112;
  spec.intermediate = 1024;
  spec.encoder_layers = 8;
  spec.heads = 6;
  spec.gated = spec.bias_in_every_layer = true;
  read_t5(config, spec);
  build_t5_stack(b, spec);
}

}  // namespace forerun
