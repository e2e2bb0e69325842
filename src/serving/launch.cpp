#include "serving/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forerun {
namespace {

// As a word of a POSIX shell.
std::string quoted(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("/._-:").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string_view dtype_of(const std::optional<Precision>& precision) {
  return precision == Precision::Fp16 ? "float16" : precision == Precision::Bf16 ? "bfloat16" : "auto";
}

std::string vllm_command(const Engine& engine, const LaunchOptions& o) {
  std::string line = fmt::format("vllm serve {} --dtype {}", quoted(o.network), dtype_of(o.precision));
  if (o.precision == Precision::Fp8) line += " --quantization fp8";
  if (o.has_fp8_caches) line += " --kv-cache-dtype fp8";
  if (o.tensor > 1) line += fmt::format(" --tensor-parallel-size {}", o.tensor);
  if (o.pipeline > 1) line += fmt::format(" --pipeline-parallel-size {}", o.pipeline);
  if (o.attention_data > 1) line += fmt::format(" --data-parallel-size {} --enable-expert-parallel", o.attention_data);
  line += fmt::format(" --gpu-memory-utilization {:g} --max-num-seqs {} --max-num-batched-tokens {}",
                      engine.memory_share, engine.max_batch, engine.step_tokens);
  if (o.role != InstanceRole::Whole)
    line += R"( --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}')";
  return line;
}

std::string sglang_command(const Engine& engine, const LaunchOptions& o) {
  std::string line = fmt::format("python -m sglang.launch_server --model-path {} --dtype {}", quoted(o.network),
                                 dtype_of(o.precision));
  if (o.precision == Precision::Fp8) line += " --quantization fp8";
  if (o.has_fp8_caches) line += " --kv-cache-dtype fp8_e4m3";
  // Its tensor parallelism counts all devices of an instance; attention is divided into dp-size groups of them.
  const std::int64_t devices = o.tensor * o.attention_data;
  if (devices > 1) line += fmt::format(" --tp-size {}", devices);
  if (o.pipeline > 1) line += fmt::format(" --pp-size {}", o.pipeline);
  if (o.attention_data > 1)
    line += fmt::format(" --dp-size {} --enable-dp-attention --ep-size {}", o.attention_data, devices);
  line += fmt::format(" --mem-fraction-static {:g} --max-running-requests {} --chunked-prefill-size {}",
                      engine.memory_share, engine.max_batch * o.attention_data, engine.step_tokens);
  if (o.role != InstanceRole::Whole) line += fmt::format(" --disaggregation-mode {}", name_of(o.role));
  return line;
}

std::string trtllm_command(const Engine& engine, const LaunchOptions& o) {
  const std::int64_t devices = o.tensor * o.attention_data;
  std::string line = fmt::format("trtllm-serve {} --backend pytorch", quoted(o.network));
  if (devices > 1) line += fmt::format(" --tp_size {}", devices);
  if (o.pipeline > 1) line += fmt::format(" --pp_size {}", o.pipeline);
  if (o.attention_data > 1) line += fmt::format(" --ep_size {}", devices);
  line += fmt::format(" --max_batch_size {} --max_num_tokens {} --kv_cache_free_gpu_memory_fraction {:g}",
                      engine.max_batch, engine.step_tokens, engine.memory_share);
  // What has no flag of its own stands in a file, here one that bash writes.
  std::string more;
  if (o.attention_data > 1) more += "enable_attention_dp: true\\n";
  if (o.has_fp8_caches) more += "kv_cache_config: {dtype: fp8}\\n";
  if (o.role != InstanceRole::Whole) more += "cache_transceiver_config: {backend: DEFAULT}\\n";
  if (!more.empty()) line += fmt::format(" --extra_llm_api_options <(printf '{}')", more);
  return line;
}

std::string llama_cpp_command(const Engine& engine, const LaunchOptions& o) {
  return fmt::format("llama-server -m {} --parallel {} --batch-size {} --n-gpu-layers 999{}", quoted(o.network),
                     engine.max_batch, engine.step_tokens, o.tensor > 1 ? " --split-mode layer" : "");
}

}  // namespace

std::string_view name_of(InstanceRole role) {
  return role == InstanceRole::Whole ? "serve" : role == InstanceRole::Prefill ? "prefill" : "decode";
}

std::string launch_command(const Engine& engine, const LaunchOptions& options) {
  if (engine.name == "vllm") return vllm_command(engine, options);
  if (engine.name == "sglang") return sglang_command(engine, options);
  if (engine.name == "trtllm") return trtllm_command(engine, options);
  if (engine.name == "llama.cpp") return llama_cpp_command(engine, options);
  return {};
}

}  // namespace forerun
