// StableLM: Llama with layer norms and a quarter of every head rotary; StableLM 2 12B norms its heads.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_stablelm(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 50304,
                                            .hidden = 2560,
                                            .intermediate = 6912,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 32,
                                            .max_positions = 4096});
  spec.norm = NormKind::Layer;
  spec.residual = config.flag("use_parallel_residual", false) ? Residual::Parallel : Residual::PreNorm;
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = config.flag("use_qkv_bias", false);
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(0.25, "rope_pct"));
  if (config.flag("qk_layernorm", false)) attention.qk_norm = QkNorm::PerHeadLayer;
  attention.q_norm = "q_layernorm";
  attention.k_norm = "k_layernorm";
  build_decoder(b, spec);
}

}  // namespace forerun
