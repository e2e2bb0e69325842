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
    Architecture{"clip", Task::Encoder, build_clip},
    Architecture{"ernie", Task::Encoder, build_bert},
    Architecture{"modernbert", Task::Encoder, build_modernbert},
    Architecture{"mpnet", Task::Encoder, build_mpnet},
    Architecture{"vit", Task::Encoder, build_vit},
    Architecture{"roberta", Task::Encoder, build_roberta},
    Architecture{"xlm-roberta", Task::Encoder, build_xlm_roberta},
    // Decoders
    Architecture{"bloom", Task::Causal, build_bloom},
    Architecture{"codegen", Task::Causal, build_codegen},
    Architecture{"cohere", Task::Causal, build_cohere},
    Architecture{"cohere2", Task::Causal, build_cohere2},
    Architecture{"deepseek_ref", Task::Causal, build_deepseek_v4},
    Architecture{"deepseek_v2", Task::Causal, build_deepseek_v2},
    Architecture{"deepseek_v3", Task::Causal, build_deepseek_v3},
    Architecture{"deepseek_v32", Task::Causal, build_deepseek_v32},
    Architecture{"deepseek_v4", Task::Causal, build_deepseek_v4},
    Architecture{"exaone4", Task::Causal, build_exaone4},
    Architecture{"falcon", Task::Causal, build_falcon},
    Architecture{"gemma", Task::Causal, build_gemma},
    Architecture{"gemma2", Task::Causal, build_gemma2},
    Architecture{"gemma3", Task::Causal, build_gemma3},
    Architecture{"gemma3_text", Task::Causal, build_gemma3},
    Architecture{"gemma4", Task::Causal, build_gemma4},
    Architecture{"gemma4_text", Task::Causal, build_gemma4},
    Architecture{"glm", Task::Causal, build_glm},
    Architecture{"glm4", Task::Causal, build_glm4},
    Architecture{"glm4_moe", Task::Causal, build_glm4_moe},
    Architecture{"glm_moe_dsa", Task::Causal, build_glm_moe_dsa},
    Architecture{"gpt2", Task::Causal, build_gpt2},
    Architecture{"gpt_bigcode", Task::Causal, build_gpt_bigcode},
    Architecture{"gpt_neo", Task::Causal, build_gpt_neo},
    Architecture{"gpt_neox", Task::Causal, build_gpt_neox},
    Architecture{"gpt_oss", Task::Causal, build_gpt_oss},
    Architecture{"gptj", Task::Causal, build_gptj},
    Architecture{"granite", Task::Causal, build_granite},
    Architecture{"granitemoe", Task::Causal, build_granitemoe},
    Architecture{"kimi_k2", Task::Causal, build_deepseek_v3},
    Architecture{"kimi_linear", Task::Causal, build_kimi_linear},
    Architecture{"llama", Task::Causal, build_llama},
    Architecture{"llama4", Task::Causal, build_llama4},
    Architecture{"llama4_text", Task::Causal, build_llama4},
    Architecture{"mimo", Task::Causal, build_qwen2},
    Architecture{"mimo_v2_flash", Task::Causal, build_mimo_v2_flash},
    Architecture{"minimax_m2", Task::Causal, build_minimax_m2},
    Architecture{"minimax_m3", Task::Causal, build_minimax_m3},
    Architecture{"ministral", Task::Causal, build_mistral},
    Architecture{"ministral3", Task::Causal, build_mistral},
    Architecture{"mistral", Task::Causal, build_mistral},
    Architecture{"mixtral", Task::Causal, build_mixtral},
    Architecture{"mpt", Task::Causal, build_mpt},
    Architecture{"nemotron", Task::Causal, build_nemotron},
    Architecture{"nemotron-nas", Task::Causal, build_nemotron_nas},
    Architecture{"nemotron_h", Task::Causal, build_nemotron_h},
    Architecture{"olmo", Task::Causal, build_olmo},
    Architecture{"olmo2", Task::Causal, build_olmo2},
    Architecture{"olmo3", Task::Causal, build_olmo3},
    Architecture{"olmoe", Task::Causal, build_olmoe},
    Architecture{"opt", Task::Causal, build_opt},
    Architecture{"phi", Task::Causal, build_phi},
    Architecture{"phi3", Task::Causal, build_phi3},
    Architecture{"phimoe", Task::Causal, build_phimoe},
    Architecture{"qwen2", Task::Causal, build_qwen2},
    Architecture{"qwen2_5_vl", Task::Causal, build_qwen2},
    Architecture{"qwen2_5_vl_text", Task::Causal, build_qwen2},
    Architecture{"qwen2_moe", Task::Causal, build_qwen2_moe},
    Architecture{"qwen2_vl", Task::Causal, build_qwen2},
    Architecture{"qwen2_vl_text", Task::Causal, build_qwen2},
    Architecture{"qwen3", Task::Causal, build_qwen3},
    Architecture{"qwen3_5", Task::Causal, build_qwen3_5},
    Architecture{"qwen3_5_moe", Task::Causal, build_qwen3_5_moe},
    Architecture{"qwen3_5_moe_text", Task::Causal, build_qwen3_5_moe},
    Architecture{"qwen3_5_text", Task::Causal, build_qwen3_5},
    Architecture{"qwen3_moe", Task::Causal, build_qwen3_moe},
    Architecture{"qwen3_next", Task::Causal, build_qwen3_next},
    Architecture{"qwen3_vl_moe_text", Task::Causal, build_qwen3_moe},
    Architecture{"qwen3_vl_text", Task::Causal, build_qwen3},
    Architecture{"seed_oss", Task::Causal, build_seed_oss},
    Architecture{"smollm3", Task::Causal, build_smollm3},
    Architecture{"stablelm", Task::Causal, build_stablelm},
    Architecture{"starcoder2", Task::Causal, build_starcoder2},
    Architecture{"step3p7", Task::Causal, build_step3p7},
    Architecture{"step3p7_text", Task::Causal, build_step3p7},
    // Encoder-decoders
    Architecture{"bart", Task::Seq2Seq, build_bart},
    Architecture{"mbart", Task::Seq2Seq, build_mbart},
    Architecture{"mt5", Task::Seq2Seq, build_mt5},
    Architecture{"switch_transformers", Task::Seq2Seq, build_switch_transformers},
    Architecture{"umt5", Task::Seq2Seq, build_umt5},
    Architecture{"whisper", Task::Seq2Seq, build_whisper},
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
