// DeepSeek V2 and V3 (and Kimi K2): multi-head latent attention, shared and routed experts, dense first layers. V3.2
// and GLM-5 add an indexer that picks the keys to attend to.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/latent_attention.hpp"

namespace forerun {

namespace {

struct DeepseekDefaults {
  DecoderDefaults decoder;
  MlaSpec mla;
  std::int64_t experts, top_k, moe_intermediate, shared, dense_layers;
  bool sigmoid;
};

void build_deepseek(const Config& config, GraphBuilder& b, const DeepseekDefaults& defaults) {
  DecoderSpec spec = usual_decoder(config, defaults.decoder);
  MlaSpec mla = defaults.mla;
  mla.heads = spec.layer.attention.heads;
  mla.bias = config.flag("attention_bias", false);
  mla.kv_rank = config.size("kv_lora_rank", mla.kv_rank);
  // An explicit null means a plain query projection.
  mla.q_rank = config.count("q_lora_rank", config.states("q_lora_rank") ? 0 : mla.q_rank);
  mla.nope_dim = config.size("qk_nope_head_dim", mla.nope_dim);
  mla.rope_dim = config.size("qk_rope_head_dim", mla.rope_dim);
  mla.value_dim = config.size("v_head_dim", mla.value_dim);
  if (mla.index_heads > 0) {
    mla.index_heads = config.size("index_n_heads", mla.index_heads);
    mla.index_dim = config.size("index_head_dim", mla.index_dim);
    mla.index_top_k = config.size("index_topk", mla.index_top_k);
  }
  // GLM-5.2 runs the indexer on some layers only; the others reuse the last one's choice.
  const auto indexers = config.texts("indexer_types");
  spec.layer.mixer = [mla, indexers](GraphBuilder& builder, ValueId x, std::int64_t layer) {
    MlaSpec one = mla;
    if (std::size_t(layer) < indexers.size() && indexers[std::size_t(layer)] != "full") one.index_is_shared = true;
    return latent_attention(builder, x, one, layer);
  };
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.count({"n_routed_experts", "num_experts"}, defaults.experts);
  moe.top_k = config.size({"num_experts_per_tok", "num_experts_per_token"}, defaults.top_k);
  moe.intermediate = config.size("moe_intermediate_size", defaults.moe_intermediate);
  moe.shared_intermediate =
      config.count({"n_shared_experts", "num_shared_experts"}, defaults.shared) * moe.intermediate;
  moe.sigmoid_scores = moe.score_correction = defaults.sigmoid;
  moe.activation = spec.layer.mlp.activation;
  apply_dense_start(config, spec, defaults.dense_layers);
  spec.layer.attention.head_dim = mla.nope_dim + mla.rope_dim;
  build_decoder(b, spec);
}

}  // namespace

void build_deepseek_v2(const Config& config, GraphBuilder& b) {
  build_deepseek(config, b,
                 {.decoder = {.vocabulary = 102400, .hidden = 4096, .intermediate = 11008, .layers = 32, .heads = 32},
                  .mla = {.q_rank = 1536},
                  .experts = 64,
                  .top_k = 6,
                  .moe_intermediate = 1407,
                  .shared = 2,
                  .dense_layers = 0,
                  .sigmoid = false});
}

void build_deepseek_v3(const Config& config, GraphBuilder& b) {
  build_deepseek(config, b,
                 {.decoder = {.vocabulary = 129280,
                              .hidden = 7168,
                              .intermediate = 18432,
                              .layers = 61,
                              .heads = 128,
                              .max_positions = 4096},
                  .mla = {.q_rank = 1536},
                  .experts = 256,
                  .top_k = 8,
                  .moe_intermediate = 2048,
                  .shared = 1,
                  .dense_layers = 3,
                  .sigmoid = true});
}

void build_deepseek_v32(const Config& config, GraphBuilder& b) {
  build_deepseek(config, b,
                 {.decoder = {.vocabulary = 129280,
                              .hidden = 7168,
                              .intermediate = 18432,
                              .layers = 61,
                              .heads = 128,
                              .max_positions = 163840},
                  .mla = {.q_rank = 1536, .index_heads = 64},
                  .experts = 256,
                  .top_k = 8,
                  .moe_intermediate = 2048,
                  .shared = 1,
                  .dense_layers = 3,
                  .sigmoid = true});
}

void build_glm_moe_dsa(const Config& config, GraphBuilder& b) {
  build_deepseek(config, b,
                 {.decoder = {.vocabulary = 154880,
                              .hidden = 6144,
                              .intermediate = 12288,
                              .layers = 78,
                              .heads = 64,
                              .max_positions = 202752},
                  .mla = {.q_rank = 2048, .nope_dim = 192, .value_dim = 256, .index_heads = 32},
                  .experts = 256,
                  .top_k = 8,
                  .moe_intermediate = 2048,
                  .shared = 1,
                  .dense_layers = 3,
                  .sigmoid = true});
}

}  // namespace forerun
