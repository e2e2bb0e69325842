// Any bytes as a config.json: parse, expand for one of the phases, analyse. It must return, without a sanitizer report.
// Stacks are cut to two layers: the third is like the second, and small inputs run a hundred times more often.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "fuzz/json_mutator.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/json_text.hpp"

namespace {

using forerun::Json;

constexpr std::size_t kMostBytes = 1 << 14;
constexpr std::int64_t kMostLayers = 2;
constexpr std::string_view kKeys[] = {"model_type",
                                      "architectures",
                                      "hidden_size",
                                      "num_hidden_layers",
                                      "num_attention_heads",
                                      "vocab_size",
                                      "num_key_value_heads",
                                      "intermediate_size",
                                      "head_dim",
                                      "torch_dtype",
                                      "text_config",
                                      "vision_config",
                                      "quantization_config",
                                      "num_local_experts",
                                      "num_experts_per_tok",
                                      "sliding_window",
                                      "layer_types",
                                      "hidden_act",
                                      "tie_word_embeddings",
                                      "max_position_embeddings",
                                      "n_layer",
                                      "n_head",
                                      "n_embd",
                                      "d_model",
                                      "encoder_layers",
                                      "decoder_layers",
                                      "kv_lora_rank",
                                      "q_lora_rank",
                                      "n_routed_experts",
                                      "moe_intermediate_size",
                                      "qk_rope_head_dim",
                                      "v_head_dim",
                                      "num_layers",
                                      "d_ff",
                                      "d_kv",
                                      "rope_scaling",
                                      "attention_bias",
                                      "state_size",
                                      "conv_kernel",
                                      "is_encoder_decoder"};
constexpr std::string_view kWords[] = {"llama", "bert", "t5",     "mixtral",  "deepseek_v2", "gpt2", "whisper",
                                       "vit",   "gelu", "silu",   "bfloat16", "awq",         "gptq", "fp8",
                                       "mamba", "clip", "gemma3", "falcon",   "qwen3_moe",   "bart", "modernbert"};

void cut_layers(Json& json, int depth) {
  if (!json.is_object() || depth > 4) return;
  for (auto& [key, value] : json.items()) {
    const bool counts = key.find("layer") != std::string::npos || key.find("depth") != std::string::npos;
    if (counts && value.is_number_integer() && value > kMostLayers) value = kMostLayers;
    cut_layers(value, depth + 1);
  }
  // Where the configuration says nothing, a family's own number of layers would be taken.
  if (depth > 0) return;
  for (const char* key :
       {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"}) {
    if (!json.contains(key)) json[key] = kMostLayers;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return forerun::JsonMutator(kKeys, kWords).mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kMostBytes));
  auto json = forerun::parse_json_text(bytes, "config.json", kMostBytes);
  if (!json || !json->is_object()) return 0;
  cut_layers(*json, 0);
  const auto network = forerun::make_huggingface_network(std::move(*json), "config", "huggingface");
  if (!network) return 0;
  const auto phase = forerun::Phase(size % 3);
  forerun::Binding binding;
  binding.phase = phase;
  binding.seq = 16;
  binding.precision = phase == forerun::Phase::Decode ? forerun::Precision::Int4 : forerun::Precision::Bf16;
  const auto graph = forerun::analyze(**network, binding);
  if (graph) (void)forerun::sum_totals(*graph);
  return 0;
}
