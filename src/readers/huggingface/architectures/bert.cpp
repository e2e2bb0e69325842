// BERT, as AutoModel builds it: with the pooler, without a task head.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_bert(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.attention.heads = 12;
  read_usual_encoder(config, spec);
  build_encoder(b, spec);
}

}  // namespace forerun
