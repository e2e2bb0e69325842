#include "readers/huggingface/architectures.hpp"

#include <array>

namespace forerun {
namespace {

constexpr std::array kArchitectures = {
    // Encoders
    Architecture{"albert", Task::Encoder, build_albert},
    Architecture{"bert", Task::Encoder, build_bert},
    Architecture{"camembert", Task::Encoder, build_xlm_roberta},
    Architecture{"deberta-v2", Task::Encoder, build_deberta_v2},
    Architecture{"distilbert", Task::Encoder, build_distilbert},
    Architecture{"electra", Task::Encoder, build_electra},
    Architecture{"roberta", Task::Encoder, build_roberta},
    Architecture{"xlm-roberta", Task::Encoder, build_xlm_roberta},
    // Decoders
    Architecture{"gemma", Task::Causal, build_gemma},
    Architecture{"gpt2", Task::Causal, build_gpt2},
    Architecture{"llama", Task::Causal, build_llama},
    Architecture{"mistral", Task::Causal, build_mistral},
    Architecture{"opt", Task::Causal, build_opt},
    Architecture{"qwen2", Task::Causal, build_qwen2},
    Architecture{"qwen3", Task::Causal, build_qwen3},
    // Encoder-decoders
    Architecture{"t5", Task::Seq2Seq, build_t5},
};

}  // namespace

const Architecture kGenericDecoder{"generic decoder", Task::Causal, build_generic_decoder};
const Architecture kGenericEncoder{"generic encoder", Task::Encoder, build_generic_encoder};

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view model_type) {
  for (const Architecture& row : kArchitectures) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

}  // namespace forerun
