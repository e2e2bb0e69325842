// Mixtral: Mistral with a mixture of experts in every layer.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_mixtral(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 32000,
                                            .hidden = 4096,
                                            .intermediate = 14336,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 8,
                                            .max_positions = 131072});
  spec.layer.attention.window = config.count("sliding_window", 0);
  spec.layer.moe = {.experts = config.size({"num_local_experts", "num_experts"}, 8),
                    .top_k = config.size("num_experts_per_tok", 2),
                    .intermediate = spec.layer.mlp.intermediate,
                    .activation = spec.layer.mlp.activation};
  spec.names.moe = "block_sparse_moe.";
  build_decoder(b, spec);
}

}  // namespace forerun
