// Architectures without a file of their own, read by the usual field names: a Llama-like decoder (with experts where
// the configuration has them) or a BERT-like encoder.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_generic_decoder(const Config& config, GraphBuilder& b) {
  const std::int64_t hidden = config.size({"hidden_size", "n_embd", "d_model"}, 4096);
  DecoderSpec spec =
      usual_decoder(config, {.vocabulary = 32000,
                             .hidden = hidden,
                             .intermediate = 4 * hidden,
                             .layers = config.layers({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, 32),
                             .heads = config.size({"num_attention_heads", "n_head", "n_heads", "num_heads"}, 32)});
  spec.layer.attention.qkv_bias = config.flag("attention_bias", config.flag("qkv_bias", false));
  spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  if (config.flag("use_qk_norm", config.flag("qk_norm", config.flag("qk_layernorm", false)))) {
    spec.layer.attention.qk_norm = QkNorm::HeadRms;
  }
  spec.layer.attention.rotary_dim = std::int64_t(double(spec.layer.attention.head_dim) * config.rotary_share(1.0));
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.count({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}, 0);
  if (moe.experts > 0) {
    moe.top_k = config.size({"num_experts_per_tok", "num_experts_per_token", "moe_k", "top_k_experts"}, 2);
    moe.intermediate = config.size("moe_intermediate_size", spec.layer.mlp.intermediate);
    moe.shared_intermediate =
        config.count("shared_expert_intermediate_size", config.count("n_shared_experts", 0) * moe.intermediate);
    moe.activation = spec.layer.mlp.activation;
    const std::int64_t dense = config.count("first_k_dense_replace", 0);
    spec.adjust = [dense](std::int64_t layer, LayerSpec& one) {
      if (layer < dense) one.moe.experts = 0;
    };
  }
  apply_layer_types(config, spec, config.count("sliding_window", 0), nullptr);
  build_decoder(b, spec);
}

void build_generic_encoder(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.attention.heads = 12;
  read_usual_encoder(config, spec);
  build_encoder(b, spec);
}

}  // namespace forerun
