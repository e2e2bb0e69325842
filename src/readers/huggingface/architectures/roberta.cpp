// RoBERTa: BERT with positions counted from the padding; its checkpoints have 514 rows of positions and one token type.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_roberta(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.vocabulary = 50265;
  spec.attention.heads = 12;
  spec.positions_from_padding = true;
  read_usual_encoder(config, spec);
  build_encoder(b, spec);
}

}  // namespace forerun
