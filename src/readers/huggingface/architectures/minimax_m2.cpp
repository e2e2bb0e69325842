// MiniMax M2: norms on the whole queries and keys, half of every head rotary, 256 sigmoid-scored experts.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_minimax_m2(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 200064,
                                            .hidden = 3072,
                                            .intermediate = 1536,
                                            .layers = 62,
                                            .heads = 48,
                                            .kv_heads = 8,
                                            .head_dim = 128,
                                            .max_positions = 196608});
  AttentionSpec& attention = spec.layer.attention;
  attention.qk_norm = QkNorm::FullRms;
  attention.rotary_dim = config.count("rotary_dim", attention.head_dim);
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size({"num_local_experts", "num_experts"}, 256);
  moe.top_k = config.size("num_experts_per_tok", 8);
  moe.intermediate = spec.layer.mlp.intermediate;
  moe.sigmoid_scores = moe.score_correction = true;
  moe.activation = spec.layer.mlp.activation;
  spec.names.moe = "block_sparse_moe.";
  build_decoder(b, spec);
}

}  // namespace forerun
