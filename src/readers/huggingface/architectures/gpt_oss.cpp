// gpt-oss: alternating sliding layers, attention sinks (eager), biased experts stored in MXFP4.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_gpt_oss(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 201088,
                                            .hidden = 2880,
                                            .intermediate = 2880,
                                            .layers = 36,
                                            .heads = 64,
                                            .kv_heads = 8,
                                            .head_dim = 64,
                                            .max_positions = 131072});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", true);
  attention.has_sinks = attention.eager = true;
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.size({"num_local_experts", "num_experts"}, 128);
  moe.top_k = config.size({"num_experts_per_tok", "experts_per_token"}, 4);
  moe.intermediate = spec.layer.mlp.intermediate;
  moe.expert_bias = moe.router_bias = true;
  moe.router = "router";
  apply_layer_types(config, spec, config.count("sliding_window", 128),
                    [](std::int64_t layer) { return layer % 2 == 0; });
  build_decoder(b, spec);
}

}  // namespace forerun
