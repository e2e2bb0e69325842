// ELECTRA's discriminator: BERT with narrow embeddings projected up, and no pooler.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_electra(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.hidden = 256;
  spec.intermediate = 1024;
  spec.attention.heads = 4;
  read_usual_encoder(config, spec);
  spec.embedding = config.size("embedding_size", 128);
  spec.has_pooler = false;
  build_encoder(b, spec);
}

}  // namespace forerun
