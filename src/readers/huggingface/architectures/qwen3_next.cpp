// Qwen 3 Next and 3.5: three layers of gated delta rule to one of gated attention; experts with a gated shared one, or
// a dense MLP (qwen3_5).
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/recurrent.hpp"

namespace forerun {
namespace {

struct HybridDefaults {
  DecoderDefaults decoder;
  std::int64_t experts, top_k;
  bool fused_projections;
};

void build_hybrid(const Config& config, GraphBuilder& b, const HybridDefaults& defaults) {
  DecoderSpec spec = usual_decoder(config, defaults.decoder);
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  attention.qk_norm = QkNorm::HeadRms;
  attention.gated_output = true;
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.25));
  if (defaults.experts > 0) {
    spec.layer.moe = {.experts = config.size({"num_experts", "num_local_experts"}, defaults.experts),
                      .top_k = config.size("num_experts_per_tok", defaults.top_k),
                      .intermediate = config.size("moe_intermediate_size", 512),
                      .activation = spec.layer.mlp.activation,
                      .shared_intermediate = config.count("shared_expert_intermediate_size", 512),
                      .shared_gate = true,
                      .shared_name = "shared_expert"};
    apply_sparse_layers(config, spec);
  }
  DeltaNetSpec delta;
  delta.key_heads = config.size("linear_num_key_heads", 16);
  delta.value_heads = config.size("linear_num_value_heads", 32);
  delta.key_dim = config.size("linear_key_head_dim", 128);
  delta.value_dim = config.size("linear_value_head_dim", 128);
  delta.kernel = config.size("linear_conv_kernel_dim", 4);
  delta.fused_projections = defaults.fused_projections;
  if (delta.value_heads % delta.key_heads != 0)
    config.fail("linear_num_value_heads is not a multiple of linear_num_key_heads");
  const auto types = config.texts("layer_types");
  const std::int64_t interval = config.size("full_attention_interval", 4);
  spec.adjust = [delta, types, interval, inner = spec.adjust](std::int64_t i, LayerSpec& layer) {
    if (inner) inner(i, layer);
    const bool is_full = types.empty() ? (i + 1) % interval == 0
                                       : std::size_t(i) < types.size() && types[std::size_t(i)] == "full_attention";
    if (!is_full) {
      layer.mixer = [delta](GraphBuilder& builder, ValueId x, std::int64_t index) {
        return gated_delta_net(builder, x, delta, index);
      };
    }
  };
  build_decoder(b, spec);
}

}  // namespace

void build_qwen3_next(const Config& config, GraphBuilder& b) {
  build_hybrid(config, b,
               {.decoder = {.vocabulary = 151936,
                            .hidden = 2048,
                            .intermediate = 5632,
                            .layers = 48,
                            .heads = 16,
                            .kv_heads = 2,
                            .head_dim = 256,
                            .max_positions = 32768},
                .experts = 512,
                .top_k = 10,
                .fused_projections = true});
}

void build_qwen3_5(const Config& config, GraphBuilder& b) {
  build_hybrid(config, b,
               {.decoder = {.vocabulary = 248320,
                            .hidden = 4096,
                            .intermediate = 12288,
                            .layers = 32,
                            .heads = 16,
                            .kv_heads = 4,
                            .head_dim = 256,
                            .max_positions = 32768},
                .experts = 0,
                .top_k = 0,
                .fused_projections = false});
}

void build_qwen3_5_moe(const Config& config, GraphBuilder& b) {
  build_hybrid(config, b,
               {.decoder = {.vocabulary = 248320,
                            .hidden = 2048,
                            .intermediate = 512,
                            .layers = 40,
                            .heads = 16,
                            .kv_heads = 2,
                            .head_dim = 256,
                            .max_positions = 32768},
                .experts = 256,
                .top_k = 8,
                .fused_projections = false});
}

}  // namespace forerun
