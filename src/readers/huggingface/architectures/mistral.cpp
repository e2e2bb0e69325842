// Mistral: Llama with a sliding window on every layer (null in the later releases).
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_mistral(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 32000,
                                            .hidden = 4096,
                                            .intermediate = 14336,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 8,
                                            .max_positions = 131072});
  // An explicit null turns the window off; an absent field has the default.
  const bool states_window = config.states("sliding_window");
  spec.layer.attention.window = config.count("sliding_window", states_window ? 0 : 4096);
  build_decoder(b, spec);
}

}  // namespace forerun
