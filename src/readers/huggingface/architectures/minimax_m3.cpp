// MiniMax M3: grouped queries with normed heads, half of every head rotary, experts with a shared one behind three
// dense layers. Its block-sparse attention is counted as full attention, with a warning.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_minimax_m3(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 200064,
                                            .hidden = 6144,
                                            .intermediate = 3072,
                                            .layers = 60,
                                            .heads = 64,
                                            .kv_heads = 4,
                                            .head_dim = 128,
                                            .max_positions = 1048576});
  AttentionSpec& attention = spec.layer.attention;
  if (config.flag("use_qk_norm", true)) attention.qk_norm = QkNorm::HeadRms;
  attention.gated_output = config.flag("attention_output_gate", false);
  attention.rotary_dim = config.count("rotary_dim", attention.head_dim / 2);
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size({"num_local_experts", "num_experts"}, 128);
  moe.top_k = config.size("num_experts_per_tok", 4);
  moe.intermediate = config.size({"moe_intermediate_size", "intermediate_size"}, 3072);
  moe.shared_intermediate =
      config.count("n_shared_experts", 1) * config.size("shared_intermediate_size", moe.intermediate);
  moe.sigmoid_scores = moe.score_correction = true;
  moe.activation = "silu";  // swigluoai: SiLU with a slope and clamps
  spec.layer.mlp.intermediate = config.size("dense_intermediate_size", 12288);
  spec.layer.mlp.activation = "silu";
  spec.names.moe = "block_sparse_moe.";
  apply_dense_start(config, spec, 3);
  if (config.has("sparse_attention_config"))
    b.warn("block-sparse attention is counted as full attention, without its indexer");
  build_decoder(b, spec);
}

}  // namespace forerun
