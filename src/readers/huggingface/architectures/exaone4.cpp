// EXAONE 4: norms on the outputs of both blocks and on every head, three sliding layers to one full.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_exaone4(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(
      config, {.vocabulary = 102400, .hidden = 4096, .intermediate = 16384, .layers = 32, .heads = 32, .kv_heads = 32});
  spec.residual = Residual::NormedOutputs;
  spec.layer.attention.qk_norm = QkNorm::HeadRms;
  const std::int64_t pattern = config.size("sliding_window_pattern", 4);
  const bool states_window = config.states("sliding_window");
  apply_layer_types(config, spec, config.count("sliding_window", states_window ? 0 : 4096),
                    [pattern](std::int64_t layer) { return (layer + 1) % pattern != 0; });
  build_decoder(b, spec);
}

}  // namespace forerun
