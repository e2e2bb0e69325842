// T5, T5 v1.1 and Flan-T5.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/t5_stack.hpp"

namespace forerun {

void build_t5(const Config& config, GraphBuilder& b) {
  T5Spec spec;
  read_t5(config, spec);
  build_t5_stack(b, spec);
}

}  // namespace forerun
