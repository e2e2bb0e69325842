// One row per architecture: the model_type Hugging Face calls it by, what it is usually for, and its builder. Everything
// about an architecture (defaults, structure, names of weights) is in its own file under architectures/.
#pragma once

#include <span>
#include <string_view>

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

struct Architecture {
  std::string_view model_type;
  Task task;
  void (*build)(const Config&, GraphBuilder&);
};

[[nodiscard]] std::span<const Architecture> architectures();
[[nodiscard]] const Architecture* find_architecture(std::string_view model_type);  // nullptr when there is none
// For types without a row, with the usual fields.
extern const Architecture kGenericDecoder;
extern const Architecture kGenericEncoder;

#define FORERUN_ARCHITECTURE(name) void build_##name(const Config&, GraphBuilder&)
FORERUN_ARCHITECTURE(albert);
FORERUN_ARCHITECTURE(bert);
FORERUN_ARCHITECTURE(deberta_v2);
FORERUN_ARCHITECTURE(distilbert);
FORERUN_ARCHITECTURE(electra);
FORERUN_ARCHITECTURE(gemma);
FORERUN_ARCHITECTURE(generic_decoder);
FORERUN_ARCHITECTURE(generic_encoder);
FORERUN_ARCHITECTURE(gpt2);
FORERUN_ARCHITECTURE(llama);
FORERUN_ARCHITECTURE(mistral);
FORERUN_ARCHITECTURE(opt);
FORERUN_ARCHITECTURE(qwen2);
FORERUN_ARCHITECTURE(qwen3);
FORERUN_ARCHITECTURE(roberta);
FORERUN_ARCHITECTURE(t5);
FORERUN_ARCHITECTURE(xlm_roberta);
#undef FORERUN_ARCHITECTURE

}  // namespace forerun
