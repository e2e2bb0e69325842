#include "readers/gguf/gguf_config.hpp"

#include <array>
#include <cctype>

#include "readers/printable.hpp"

namespace forerun {
namespace {

struct Row {
  std::string_view gguf, model_type;
};
constexpr std::array kArchitectures = {
    Row{"bert", "bert"},
    Row{"bloom", "bloom"},
    Row{"cohere2", "cohere2"},
    Row{"command-r", "cohere"},
    Row{"deepseek2", "deepseek_v2"},
    Row{"exaone4", "exaone4"},
    Row{"falcon", "falcon"},
    Row{"gemma", "gemma"},
    Row{"gemma2", "gemma2"},
    Row{"gemma3", "gemma3_text"},
    Row{"glm4", "glm4"},
    Row{"glm4moe", "glm4_moe"},
    Row{"gpt-oss", "gpt_oss"},
    Row{"gpt2", "gpt2"},
    Row{"gptj", "gptj"},
    Row{"gptneox", "gpt_neox"},
    Row{"granite", "granite"},
    Row{"granitemoe", "granitemoe"},
    Row{"llama", "llama"},
    Row{"llama4", "llama4_text"},
    Row{"minimax-m2", "minimax_m2"},
    Row{"mistral3", "mistral"},
    Row{"mpt", "mpt"},
    Row{"nemotron", "nemotron"},
    Row{"olmo", "olmo"},
    Row{"olmo2", "olmo2"},
    Row{"olmoe", "olmoe"},
    Row{"phi2", "phi"},
    Row{"phi3", "phi3"},
    Row{"phimoe", "phimoe"},
    Row{"qwen2", "qwen2"},
    Row{"qwen2moe", "qwen2_moe"},
    Row{"qwen3", "qwen3"},
    Row{"qwen3moe", "qwen3_moe"},
    Row{"seed_oss", "seed_oss"},
    Row{"smollm3", "smollm3"},
    Row{"stablelm", "stablelm"},
    Row{"starcoder2", "starcoder2"},
};

struct Rename {
  std::string_view ours, theirs;
};
constexpr std::array kLayerNames = {
    Rename{"self_attn.q_proj", "attn_q"},
    Rename{"self_attn.k_proj", "attn_k"},
    Rename{"self_attn.v_proj", "attn_v"},
    Rename{"self_attn.o_proj", "attn_output"},
    Rename{"self_attn.out_proj", "attn_output"},
    Rename{"self_attn.dense", "attn_output"},
    Rename{"self_attn.qkv_proj", "attn_qkv"},
    Rename{"self_attention.query_key_value", "attn_qkv"},
    Rename{"attention.query_key_value", "attn_qkv"},
    Rename{"attn.Wqkv", "attn_qkv"},
    Rename{"attn.c_attn", "attn_qkv"},
    Rename{"attn.c_proj", "attn_output"},
    Rename{"attn.out_proj", "attn_output"},
    Rename{"self_attention.dense", "attn_output"},
    Rename{"attention.dense", "attn_output"},
    Rename{"attn.q_proj", "attn_q"},
    Rename{"attn.k_proj", "attn_k"},
    Rename{"attn.v_proj", "attn_v"},
    Rename{"self_attn.q_norm", "attn_q_norm"},
    Rename{"self_attn.k_norm", "attn_k_norm"},
    Rename{"self_attn.sinks", "attn_sinks"},
    Rename{"self_attn.q_a_proj", "attn_q_a"},
    Rename{"self_attn.q_b_proj", "attn_q_b"},
    Rename{"self_attn.q_a_layernorm", "attn_q_a_norm"},
    Rename{"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    Rename{"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    Rename{"self_attn.kv_b_proj", "attn_kv_b"},
    Rename{"mlp.gate_proj", "ffn_gate"},
    Rename{"mlp.up_proj", "ffn_up"},
    Rename{"mlp.down_proj", "ffn_down"},
    Rename{"mlp.gate_up_proj", "ffn_up"},
    Rename{"mlp.fc1", "ffn_up"},
    Rename{"mlp.fc2", "ffn_down"},
    Rename{"mlp.c_fc", "ffn_up"},
    Rename{"mlp.c_proj", "ffn_down"},
    Rename{"mlp.fc_in", "ffn_up"},
    Rename{"mlp.fc_out", "ffn_down"},
    Rename{"mlp.dense_h_to_4h", "ffn_up"},
    Rename{"mlp.dense_4h_to_h", "ffn_down"},
    Rename{"ffn.up_proj", "ffn_up"},
    Rename{"ffn.down_proj", "ffn_down"},
    Rename{"feed_forward.gate_proj", "ffn_gate"},
    Rename{"feed_forward.up_proj", "ffn_up"},
    Rename{"feed_forward.down_proj", "ffn_down"},
    Rename{"mlp.gate", "ffn_gate_inp"},
    Rename{"mlp.router", "ffn_gate_inp"},
    Rename{"block_sparse_moe.gate", "ffn_gate_inp"},
    Rename{"block_sparse_moe.router.layer", "ffn_gate_inp"},
    Rename{"feed_forward.router", "ffn_gate_inp"},
    Rename{"mlp.experts.gate_up_proj", "ffn_gate_up_exps"},
    Rename{"mlp.experts.down_proj", "ffn_down_exps"},
    Rename{"block_sparse_moe.experts.gate_up_proj", "ffn_gate_up_exps"},
    Rename{"block_sparse_moe.experts.down_proj", "ffn_down_exps"},
    Rename{"feed_forward.experts.gate_up_proj", "ffn_gate_up_exps"},
    Rename{"feed_forward.experts.down_proj", "ffn_down_exps"},
    Rename{"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    Rename{"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    Rename{"mlp.shared_experts.down_proj", "ffn_down_shexp"},
    Rename{"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    Rename{"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    Rename{"mlp.shared_expert.down_proj", "ffn_down_shexp"},
    Rename{"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    Rename{"feed_forward.shared_expert.gate_proj", "ffn_gate_shexp"},
    Rename{"feed_forward.shared_expert.up_proj", "ffn_up_shexp"},
    Rename{"feed_forward.shared_expert.down_proj", "ffn_down_shexp"},
    Rename{"input_layernorm", "attn_norm"},
    Rename{"ln_1", "attn_norm"},
    Rename{"ln_2", "ffn_norm"},
    Rename{"norm_1", "attn_norm"},
    Rename{"norm_2", "ffn_norm"},
    Rename{"ln_attn", "attn_norm"},
    Rename{"ln_mlp", "ffn_norm"},
    Rename{"pre_feedforward_layernorm", "ffn_norm"},
    Rename{"post_feedforward_layernorm", "post_ffw_norm"},
    Rename{"attention.self.query", "attn_q"},
    Rename{"attention.self.key", "attn_k"},
    Rename{"attention.self.value", "attn_v"},
    Rename{"attention.output.dense", "attn_output"},
    Rename{"attention.output.LayerNorm", "attn_output_norm"},
    Rename{"intermediate.dense", "ffn_up"},
    Rename{"output.dense", "ffn_down"},
    Rename{"output.LayerNorm", "layer_output_norm"},
};
constexpr std::array kOuterNames = {
    Rename{"embed_tokens", "token_embd"},
    Rename{"wte", "token_embd"},
    Rename{"word_embeddings", "token_embd"},
    Rename{"embed_in", "token_embd"},
    Rename{"wpe", "position_embd"},
    Rename{"position_embeddings", "position_embd"},
    Rename{"token_type_embeddings", "token_types"},
    Rename{"embeddings.LayerNorm", "token_embd_norm"},
    Rename{"word_embeddings_layernorm", "token_embd_norm"},
    Rename{"model.norm", "output_norm"},
    Rename{"ln_f", "output_norm"},
    Rename{"norm_f", "output_norm"},
    Rename{"final_layernorm", "output_norm"},
    Rename{"final_layer_norm", "output_norm"},
    Rename{"lm_head", "output"},
    Rename{"embed_out", "output"},
};

}  // namespace

std::string gguf_name(std::string_view module, bool norms_outputs) {
  // "….layers.12.rest" or "….h.12.rest": the first part that is a number is the layer's.
  std::size_t at = 0;
  while (at < module.size()) {
    const std::size_t end = std::min(module.find('.', at), module.size());
    const std::string_view part = module.substr(at, end - at);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number && end < module.size()) {
      const std::string_view rest = module.substr(end + 1);
      const std::string layer = "blk." + std::string(part) + ".";
      if (rest == "post_attention_layernorm") return layer + (norms_outputs ? "post_attention_norm" : "ffn_norm");
      for (const Rename& row : kLayerNames) {
        if (rest == row.ours) return layer + std::string(row.theirs);
      }
      return std::string(module);
    }
    at = end + 1;
  }
  for (const Rename& row : kOuterNames) {
    if (module.ends_with(row.ours)) return std::string(row.theirs);
  }
  return std::string(module);
}

std::optional<Json> config_of_gguf(const GgufFile& file, std::string& reason) {
  const std::string architecture = file.text("general.architecture");
  std::string_view model_type;
  for (const Row& row : kArchitectures) {
    if (row.gguf == architecture) model_type = row.model_type;
  }
  if (model_type.empty()) {
    reason = "architecture '" + printable(architecture) + "' is not known: its weights alone are read";
    return std::nullopt;
  }
  const auto key = [&](std::string_view name) { return architecture + "." + std::string(name); };
  const auto has = [&](std::string_view name) { return file.metadata.contains(key(name)); };
  if (!has("block_count") || !has("embedding_length") || !has("attention.head_count")) {
    reason = "the metadata lacks " + key("block_count") + " or other sizes: its weights alone are read";
    return std::nullopt;
  }
  const std::int64_t hidden = file.integer(key("embedding_length"), 0),
                     heads = file.integer(key("attention.head_count"), 0);
  const std::int64_t experts = file.integer(key("expert_count"), 0);
  if (model_type == "llama" && experts > 0) model_type = "mixtral";
  // expert_gating_func 2 is the sigmoid of DeepSeek V3.
  if (model_type == "deepseek_v2" && file.integer(key("expert_gating_func"), 1) == 2) model_type = "deepseek_v3";

  Json config = {{"model_type", model_type}};
  config["torch_dtype"] = "float16";  // of activations and cache, as llama.cpp keeps them; weights are as stored
  config["num_hidden_layers"] = file.integer(key("block_count"), 0);
  config["hidden_size"] = hidden;
  config["num_attention_heads"] = heads;
  const auto copy = [&](std::string_view from, std::string_view to) {
    if (has(from)) config[std::string(to)] = file.integer(key(from), 0);
  };
  copy("attention.head_count_kv", "num_key_value_heads");
  copy("feed_forward_length", "intermediate_size");
  copy("context_length", "max_position_embeddings");
  copy("expert_used_count", "num_experts_per_tok");
  copy("expert_feed_forward_length", "moe_intermediate_size");
  copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
  copy("leading_dense_block_count", "first_k_dense_replace");
  copy("expert_shared_count", "n_shared_experts");
  copy("attention.sliding_window", "sliding_window");
  if (!has("attention.sliding_window")) config["sliding_window"] = nullptr;
  if (experts > 0) config["num_local_experts"] = config["num_experts"] = config["n_routed_experts"] = experts;
  if (has("attention.key_length") && model_type != "deepseek_v2" && model_type != "deepseek_v3")
    copy("attention.key_length", "head_dim");
  if (model_type == "deepseek_v2" || model_type == "deepseek_v3") {
    copy("attention.kv_lora_rank", "kv_lora_rank");
    config["q_lora_rank"] = nullptr;
    copy("attention.q_lora_rank", "q_lora_rank");
    const std::int64_t rope = file.integer(key("rope.dimension_count"), 64);
    config["qk_rope_head_dim"] = rope;
    const std::int64_t whole =
        file.integer(key("attention.key_length_mla"), file.integer(key("attention.key_length"), 128 + rope));
    config["qk_nope_head_dim"] = whole > rope ? whole - rope : 128;
    config["v_head_dim"] =
        file.integer(key("attention.value_length_mla"), file.integer(key("attention.value_length"), 128));
  } else if (has("rope.dimension_count") && heads > 0) {
    const std::int64_t head_dim = file.integer(key("attention.key_length"), hidden / heads);
    if (head_dim > 0) {
      const double share = double(file.integer(key("rope.dimension_count"), head_dim)) / double(head_dim);
      if (share > 0 && share <= 1) config["partial_rotary_factor"] = share;
    }
  }
  // Names older configurations use.
  config["n_embd"] = config["d_model"] = hidden;
  config["n_layer"] = config["n_layers"] = config["num_hidden_layers"];
  config["n_head"] = config["n_heads"] = heads;
  if (config.contains("max_position_embeddings")) config["n_positions"] = config["max_position_embeddings"];
  if (config.contains("intermediate_size")) config["n_inner"] = config["ffn_hidden_size"] = config["intermediate_size"];
  config["num_kv_heads"] = file.integer(key("attention.head_count_kv"), heads);

  // What the tensors themselves tell: vocabulary, biases, tied head.
  std::int64_t vocabulary = file.integer(key("vocab_size"), file.array_size("tokenizer.ggml.tokens"));
  bool has_output = false, q_bias = false, out_bias = false, mlp_bias = false;
  for (const GgufTensor& tensor : file.tensors) {
    const std::string& name = tensor.stored.name;
    if (name == "token_embd.weight" && tensor.stored.shape.size() == 2) vocabulary = tensor.stored.shape[0];
    has_output |= name == "output.weight";
    q_bias |= name == "blk.0.attn_q.bias";
    out_bias |= name == "blk.0.attn_output.bias";
    mlp_bias |= name == "blk.0.ffn_up.bias";
    if (name == "token_types.weight" && tensor.stored.shape.size() == 2)
      config["type_vocab_size"] = tensor.stored.shape[0];
  }
  if (vocabulary > 0) config["vocab_size"] = vocabulary;
  config["tie_word_embeddings"] = !has_output;
  config["attention_bias"] = config["use_qkv_bias"] = q_bias;
  config["attention_out_bias"] = out_bias;
  config["mlp_bias"] = mlp_bias;
  return config;
}

}  // namespace forerun
