// T5 and its descendants: relative position bias in the first layer, no scaling of scores, RMS norms, eager attention.
#pragma once

#include <cstdint>
#include <string>

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

struct T5Spec {
  std::int64_t vocabulary = 32128, hidden = 512, head_dim = 64, heads = 8, intermediate = 2048;
  std::int64_t encoder_layers = 6, decoder_layers = 6, buckets = 32;
  bool gated = false;
  bool bias_in_every_layer = false;  // UMT5
  bool tied_head = true;
  std::string activation = "relu";
  // Switch Transformers: every n-th layer has experts (0 = none).
  std::int64_t experts = 0, encoder_sparse_step = 0, decoder_sparse_step = 0;
};

// Fields under T5's names; `spec` holds the defaults.
void read_t5(const Config& config, T5Spec& spec);
void build_t5_stack(GraphBuilder& b, const T5Spec& spec);

}  // namespace forerun
