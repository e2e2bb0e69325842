// Phi-3, 3.5 and 4: Llama with fused query-key-value and gate-up projections.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_phi3(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(
      config,
      {.vocabulary = 32064, .hidden = 3072, .intermediate = 8192, .layers = 32, .heads = 32, .max_positions = 4096});
  AttentionSpec& attention = spec.layer.attention;
  attention.fused_qkv = true;
  attention.rotary_dim = std::int64_t(double(attention.head_dim) * config.rotary_share(1.0));
  attention.window = config.count("sliding_window", 0);
  spec.layer.mlp.fused = true;
  spec.layer.mlp.up = "gate_up_proj";
  build_decoder(b, spec);
}

}  // namespace forerun
