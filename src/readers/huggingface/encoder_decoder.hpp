// The encoder-decoder BART, Whisper, mBART, Pegasus and Marian are variants of.
#pragma once

#include <cstdint>
#include <string>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/config.hpp"

namespace forerun {

struct SequenceSpec {
  std::int64_t layers = 12, heads = 16, intermediate = 4096;
};

struct EncoderDecoderSpec {
  std::int64_t vocabulary = 50265, hidden = 1024, max_positions = 1024;
  std::int64_t encoder_position_rows = 0, decoder_position_rows = 0;
  SequenceSpec encoder, decoder;
  std::string activation = "gelu";
  bool pre_norm = false;  // norms before the blocks and one at the end
  bool final_norm = false;
  bool embed_norm = true;
  bool scales_embedding = false;
  bool positions_are_trained = true;
  bool key_has_no_bias = false;
  bool head_bias = false;  // final_logits_bias, a buffer
  bool tied_head = true;
  std::string_view shared_name = "model.shared";
  // Whisper: mel frames through two convolutions instead of an embedding.
  std::int64_t mel_bins = 0, source_positions = 0;
};

// Fields under BART's names; `spec` holds the defaults.
void read_encoder_decoder(const Config& config, EncoderDecoderSpec& spec);
void build_encoder_decoder(GraphBuilder& b, const EncoderDecoderSpec& spec);

}  // namespace forerun
