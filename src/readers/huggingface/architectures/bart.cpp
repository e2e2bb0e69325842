// BART: norms after each block and on the embeddings, learned positions (two rows more than positions).
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder_decoder.hpp"

namespace forerun {

void build_bart(const Config& config, GraphBuilder& b) {
  EncoderDecoderSpec spec;
  read_encoder_decoder(config, spec);
  spec.encoder_position_rows = spec.decoder_position_rows = spec.max_positions + 2;
  spec.head_bias = true;
  build_encoder_decoder(b, spec);
}

// mBART: BART that norms before its blocks, with a norm at the end of both stacks.
void build_mbart(const Config& config, GraphBuilder& b) {
  EncoderDecoderSpec spec;
  spec.pre_norm = spec.final_norm = true;
  read_encoder_decoder(config, spec);
  spec.encoder_position_rows = spec.decoder_position_rows = spec.max_positions + 2;
  spec.head_bias = true;
  build_encoder_decoder(b, spec);
}

}  // namespace forerun
