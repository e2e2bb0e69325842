// Qwen 1.5 and 2 MoE: routed experts and one shared expert behind a sigmoid gate.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_qwen2_moe(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 151936,
                                            .hidden = 2048,
                                            .intermediate = 5632,
                                            .layers = 24,
                                            .heads = 16,
                                            .kv_heads = 16,
                                            .max_positions = 32768});
  spec.layer.attention.qkv_bias = config.flag("qkv_bias", true);
  spec.layer.moe = {.experts = config.size({"num_experts", "num_local_experts"}, 60),
                    .top_k = config.size("num_experts_per_tok", 4),
                    .intermediate = config.size("moe_intermediate_size", 1408),
                    .activation = spec.layer.mlp.activation,
                    .shared_intermediate = config.size("shared_expert_intermediate_size", 5632),
                    .shared_gate = true,
                    .shared_name = "shared_expert"};
  apply_sparse_layers(config, spec);
  const std::int64_t first = config.count("max_window_layers", 28);
  const std::int64_t window = config.flag("use_sliding_window", false) ? config.count("sliding_window", 4096) : 0;
  apply_layer_types(config, spec, window, [first](std::int64_t layer) { return layer >= first; });
  build_decoder(b, spec);
}

}  // namespace forerun
