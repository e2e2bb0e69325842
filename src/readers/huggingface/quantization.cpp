#include "readers/huggingface/quantization.hpp"

#include <array>

#include "readers/json_text.hpp"

namespace forerun {
namespace {

constexpr std::array kTypes = {
    // one row per Precision, in enum order
    PrecisionTypes{DType::Float32, DType::Float32, {DType::Float32}},               // ieee_fp32
    PrecisionTypes{DType::Float32, DType::Float32, {DType::Float32}},               // fp32
    PrecisionTypes{DType::Float32, DType::Float32, {DType::Float32}},               // tf32
    PrecisionTypes{DType::Float16, DType::Float16, {DType::Float16}},               // fp16
    PrecisionTypes{DType::BFloat16, DType::BFloat16, {DType::BFloat16}},            // bf16
    PrecisionTypes{DType::Float32, DType::BFloat16, {DType::Float32}},              // amp_bf16
    PrecisionTypes{DType::BFloat16, DType::BFloat16, {DType::Float8E4M3FN, 0, 4}},  // fp8
    PrecisionTypes{DType::Float16, DType::Float16, {DType::Int8, 0, 2}},            // int8
    PrecisionTypes{DType::Float16, DType::Float16, {DType::UInt4, 128, 2.5}},       // int4
    PrecisionTypes{DType::BFloat16, DType::BFloat16, {DType::Float4E2M1, 16, 1}},   // fp4
    PrecisionTypes{DType::Float32, DType::Float16, {DType::Float32}},               // amp_fp16
};
static_assert(kTypes.size() == std::size_t(Precision::Count), "every Precision needs one row in kTypes");

// '*' matches any run of characters.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

WeightStorage four_bit(DType dtype, std::int64_t group, double scale_bytes) { return {dtype, group, scale_bytes}; }

WeightStorage integer_storage(std::int64_t bits, std::int64_t group) {
  if (bits == 8) return {DType::Int8, group, 2};
  return four_bit(bits == 2 ? DType::UInt2 : DType::UInt4, group > 0 ? group : 128, 2.5);
}

void read_exclusions(const Config& quantization, CheckpointQuantization& result) {
  for (const std::string_view field : {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"}) {
    for (std::string module : quantization.texts(field)) {
      if (module.rfind("re:", 0) == 0) {  // a regular expression: ".*" is the only operator used in practice
        module.erase(0, 3);
        for (std::size_t at = 0; (at = module.find(".*", at)) != std::string::npos; ++at) module.erase(at, 1);
        std::erase(module, '\\');
        std::erase(module, '$');
        std::erase(module, '^');
      }
      if (module.find('*') != std::string::npos)
        result.excluded_patterns.push_back(std::move(module));
      else
        result.excluded.insert(std::move(module));
    }
  }
}

}  // namespace

PrecisionTypes types_of(Precision precision) {
  return kTypes[precision < Precision::Count ? std::size_t(precision) : 0];
}

bool CheckpointQuantization::excludes(std::string_view module) const {
  if (!excluded.empty()) {
    // A module is excluded by its own name, a parent's, or the name relative to "model.".
    std::string name(module);
    while (!name.empty()) {
      if (excluded.contains(name)) return true;
      const std::size_t dot = name.rfind('.');
      if (dot == std::string::npos) break;
      if (excluded.contains(name.substr(dot + 1))) return true;
      name.resize(dot);
    }
  }
  for (const std::string& pattern : excluded_patterns) {
    if (matches(pattern, module)) return true;
  }
  return false;
}

CheckpointQuantization read_quantization(const Config& config, std::string& unknown) {
  CheckpointQuantization result;
  if (!config.has("quantization_config")) return result;
  const Config quantization = config.sub("quantization_config");
  result.method = quantization.text("quant_method", "");
  const std::string algorithm = quantization.text("quant_algo", "");
  std::string method = result.method;
  if (method == "modelopt" || method.empty()) method = algorithm;
  result.is_present = true;
  read_exclusions(quantization, result);
  if (method == "fp8" || method == "FP8" || method == "fbgemm_fp8" || method == "FP8_PB_WO" || method == "fp8_pb_wo") {
    // Block-wise checkpoints have one float32 scale per 128 x 128 block; others one per output channel.
    const auto block = quantization.integers("weight_block_size");
    const bool blocked = block.size() == 2 && block[0] > 0 && block[1] > 0;
    result.storage = blocked ? WeightStorage{DType::Float8E4M3FN, block[1], 4.0 / double(block[0])}
                             : WeightStorage{DType::Float8E4M3FN, 0, 4};
  } else if (method == "mxfp4") {
    result.storage = four_bit(DType::Float4E2M1, 32, 1);
    result.experts_only = true;
  } else if (method == "NVFP4" || method == "nvfp4" || method == "MIXED_PRECISION" || method == "W4A16_NVFP4") {
    result.storage = four_bit(DType::Float4E2M1, 16, 1);
  } else if (method == "gptq" || method == "awq" || method == "auto-round") {
    result.storage = integer_storage(quantization.count("bits", 4), quantization.count("group_size", 128));
  } else if (method == "bitsandbytes") {
    const bool four = quantization.flag("load_in_4bit", false) || quantization.flag("_load_in_4bit", false);
    result.storage = four ? four_bit(DType::UInt4, 64, 4) : WeightStorage{DType::Int8, 0, 4};
  } else if (method == "compressed-tensors") {
    const Json* groups = nullptr;
    const auto& object = quantization.json();
    if (const auto it = object.find("config_groups"); it != object.end() && it->is_object() && !it->empty())
      groups = &*it->begin();
    std::int64_t bits = 8, group = 0;
    bool is_float = true;
    if (groups != nullptr && groups->is_object() && groups->contains("weights") && (*groups)["weights"].is_object()) {
      std::string ignored;
      const Config weights((*groups)["weights"], ignored);
      bits = weights.count("num_bits", 8);
      group = weights.count("group_size", 0);
      is_float = weights.text("type", "int") == "float";
    }
    if (is_float)
      result.storage = bits == 4 ? four_bit(DType::Float4E2M1, group > 0 ? group : 16, 1)
                                 : WeightStorage{DType::Float8E4M3FN, group, 4};
    else
      result.storage = integer_storage(bits, group);
  } else {
    result.is_present = false;
    unknown = method.empty() ? result.method : method;
    if (unknown.empty()) unknown = "of no stated method";
  }
  return result;
}

}  // namespace forerun
