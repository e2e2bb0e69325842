// Whisper: an encoder over mel frames (two convolutions, 1500 positions) and a BART-like decoder that norms first.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder_decoder.hpp"

namespace forerun {

void build_whisper(const Config& config, GraphBuilder& b) {
  EncoderDecoderSpec spec;
  spec.vocabulary = 51865;
  spec.hidden = 384;
  spec.encoder = spec.decoder = {.layers = 4, .heads = 6, .intermediate = 1536};
  spec.pre_norm = spec.final_norm = spec.key_has_no_bias = true;
  spec.embed_norm = false;
  spec.shared_name = "model.decoder.embed_tokens";
  read_encoder_decoder(config, spec);
  spec.mel_bins = config.size("num_mel_bins", 80);
  spec.source_positions = config.size("max_source_positions", 1500);
  spec.decoder_position_rows = spec.max_positions = config.size("max_target_positions", 448);
  if (b.run.encoder_tokens != spec.source_positions) {
    // The encoder's length is fixed by the configuration; the sequence length is the decoder's.
    RunShape run = b.run;
    if (run.phase == Phase::Forward) run.tokens = std::min(run.encoder_tokens, spec.max_positions);
    run.encoder_tokens = spec.source_positions;
    GraphBuilder own(run);
    own.graph.warnings = b.graph.warnings;
    own.graph.name = b.graph.name;
    own.graph.format = b.graph.format;
    own.graph.origin = b.graph.origin;
    build_encoder_decoder(own, spec);
    b.graph = std::move(own.graph);
    return;
  }
  build_encoder_decoder(b, spec);
}

}  // namespace forerun
