// One row per architecture: the model_type Hugging Face calls it by, what it is usually for, and its builder.
// Everything about an architecture (defaults, structure, names of weights) is in its own file under architectures/.
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
FORERUN_ARCHITECTURE(bart);
FORERUN_ARCHITECTURE(bert);
FORERUN_ARCHITECTURE(bloom);
FORERUN_ARCHITECTURE(clip);
FORERUN_ARCHITECTURE(codegen);
FORERUN_ARCHITECTURE(cohere);
FORERUN_ARCHITECTURE(cohere2);
FORERUN_ARCHITECTURE(deberta_v2);
FORERUN_ARCHITECTURE(deepseek_v2);
FORERUN_ARCHITECTURE(deepseek_v3);
FORERUN_ARCHITECTURE(deepseek_v32);
FORERUN_ARCHITECTURE(deepseek_v4);
FORERUN_ARCHITECTURE(distilbert);
FORERUN_ARCHITECTURE(electra);
FORERUN_ARCHITECTURE(exaone4);
FORERUN_ARCHITECTURE(falcon);
FORERUN_ARCHITECTURE(gemma);
FORERUN_ARCHITECTURE(gemma2);
FORERUN_ARCHITECTURE(gemma3);
FORERUN_ARCHITECTURE(gemma4);
FORERUN_ARCHITECTURE(generic_decoder);
FORERUN_ARCHITECTURE(generic_encoder);
FORERUN_ARCHITECTURE(glm);
FORERUN_ARCHITECTURE(glm4);
FORERUN_ARCHITECTURE(glm4_moe);
FORERUN_ARCHITECTURE(glm_moe_dsa);
FORERUN_ARCHITECTURE(gpt2);
FORERUN_ARCHITECTURE(gpt_bigcode);
FORERUN_ARCHITECTURE(gpt_neo);
FORERUN_ARCHITECTURE(gpt_neox);
FORERUN_ARCHITECTURE(gpt_oss);
FORERUN_ARCHITECTURE(gptj);
FORERUN_ARCHITECTURE(granite);
FORERUN_ARCHITECTURE(granitemoe);
FORERUN_ARCHITECTURE(kimi_linear);
FORERUN_ARCHITECTURE(llama);
FORERUN_ARCHITECTURE(llama4);
FORERUN_ARCHITECTURE(mbart);
FORERUN_ARCHITECTURE(mimo_v2_flash);
FORERUN_ARCHITECTURE(minimax_m2);
FORERUN_ARCHITECTURE(minimax_m3);
FORERUN_ARCHITECTURE(mistral);
FORERUN_ARCHITECTURE(mixtral);
FORERUN_ARCHITECTURE(modernbert);
FORERUN_ARCHITECTURE(mpnet);
FORERUN_ARCHITECTURE(mpt);
FORERUN_ARCHITECTURE(mt5);
FORERUN_ARCHITECTURE(nemotron);
FORERUN_ARCHITECTURE(nemotron_h);
FORERUN_ARCHITECTURE(nemotron_nas);
FORERUN_ARCHITECTURE(olmo);
FORERUN_ARCHITECTURE(olmo2);
FORERUN_ARCHITECTURE(olmo3);
FORERUN_ARCHITECTURE(olmoe);
FORERUN_ARCHITECTURE(opt);
FORERUN_ARCHITECTURE(phi);
FORERUN_ARCHITECTURE(phi3);
FORERUN_ARCHITECTURE(phimoe);
FORERUN_ARCHITECTURE(qwen2);
FORERUN_ARCHITECTURE(qwen2_moe);
FORERUN_ARCHITECTURE(qwen3);
FORERUN_ARCHITECTURE(qwen3_5);
FORERUN_ARCHITECTURE(qwen3_5_moe);
FORERUN_ARCHITECTURE(qwen3_moe);
FORERUN_ARCHITECTURE(qwen3_next);
FORERUN_ARCHITECTURE(roberta);
FORERUN_ARCHITECTURE(seed_oss);
FORERUN_ARCHITECTURE(smollm3);
FORERUN_ARCHITECTURE(stablelm);
FORERUN_ARCHITECTURE(starcoder2);
FORERUN_ARCHITECTURE(step3p7);
FORERUN_ARCHITECTURE(switch_transformers);
FORERUN_ARCHITECTURE(t5);
FORERUN_ARCHITECTURE(umt5);
FORERUN_ARCHITECTURE(vit);
FORERUN_ARCHITECTURE(whisper);
FORERUN_ARCHITECTURE(xlm_roberta);
#undef FORERUN_ARCHITECTURE

}  // namespace forerun
