// XLM-RoBERTa and CamemBERT: RoBERTa with BERT's default vocabulary.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_xlm_roberta(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.attention.heads = 12;
  spec.positions_from_padding = true;
  read_usual_encoder(config, spec);
  build_encoder(b, spec);
}

}  // namespace forerun
