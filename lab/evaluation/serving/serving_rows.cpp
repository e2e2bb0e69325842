#include "evaluation/serving/serving_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/csv.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// A collection's name and format of a network, and the name under which it ships or the configuration beside the
// tables.
struct NetworkName {
  std::string_view theirs, precision, ours;
};
constexpr NetworkName kNetworks[] = {
    {"deepseek-ai/DeepSeek-R1", "fp4", "nvidia--DeepSeek-V3.1-NVFP4"},
    {"deepseek-ai/DeepSeek-V3", "fp4", "nvidia--DeepSeek-V3.1-NVFP4"},
    {"nvidia/DeepSeek-R1-NVFP4", "", "nvidia--DeepSeek-V3.1-NVFP4"},
    {"deepseek-ai/DeepSeek-R1", "", "deepseek-ai--DeepSeek-R1"},
    {"deepseek-ai/DeepSeek-V3", "", "deepseek-ai--DeepSeek-V3"},
    {"moonshotai/Kimi-K2.5", "fp4", "nvidia--Kimi-K2.5-NVFP4"},
    {"moonshotai/Kimi-K2.5", "", "moonshotai--Kimi-K2.5"},
    {"MiniMaxAI/MiniMax-M2.5", "fp4", "nvidia--MiniMax-M2.5-NVFP4"},
    {"MiniMaxAI/MiniMax-M2.5", "", "MiniMaxAI--MiniMax-M2.5"},
    {"Qwen/Qwen3.5-397B-A17B", "fp4", "nvidia--Qwen3.5-397B-A17B-NVFP4"},
    {"Qwen/Qwen3.5-397B-A17B", "", "Qwen--Qwen3.5-397B-A17B"},
    {"zhipuai/GLM-5", "fp4", "nvidia--GLM-5-NVFP4"},
    {"zhipuai/GLM-5", "", "zai-org--GLM-5-FP8"},
    {"Qwen/Qwen3-235B-A22B-FP8", "", "Qwen--Qwen3-235B-A22B-FP8"},
    {"openai/gpt-oss-120b", "", "openai--gpt-oss-120b"},
    {"Qwen/Qwen3-32B", "", "Qwen--Qwen3-32B"},
    {"nvidia/Qwen3-32B-NVFP4", "", "Qwen--Qwen3-32B"},
    {"meta-llama/Llama-3.1-70B", "", "meta-llama--Meta-Llama-3.1-70B"},
    {"meta-llama/Llama-3.1-8B-Instruct", "", "meta-llama--Meta-Llama-3.1-8B"},
};

std::string configuration_of(std::string_view name, std::string_view precision, const std::string& folder) {
  for (const NetworkName& n : kNetworks) {
    if (n.theirs != name || (!n.precision.empty() && n.precision != precision)) continue;
    const fs::path path = fs::path(folder) / "reference" / "hf_configs" / (std::string(n.ours) + "_config.json");
    return fs::exists(path) ? path.string() : "";
  }
  return "";
}

// Checkpoints whose configuration states the format of the run are taken as they are.
void set_precision(const std::string& model, const std::string& precision, Request& request) {
  const bool states_fp8 = model.find("FP8") != std::string::npos || model.find("DeepSeek-R1_") != std::string::npos ||
                          model.find("DeepSeek-V3_") != std::string::npos ||
                          model.find("MiniMax-M2.5_") != std::string::npos;
  const bool states_four_bits =
      model.find("gpt-oss") != std::string::npos || model.find("moonshotai--Kimi") != std::string::npos;
  if (precision == "fp8" && !states_fp8) request.precision = Precision::Fp8;
  if (precision == "fp4" && !states_four_bits) request.precision = Precision::Fp4;
  if (precision.empty() || precision == "bf16") request.precision = Precision::Bf16;
}

std::int64_t number_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  std::int64_t value = 0;
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = text.substr(at + key.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// The collection's columns of one layout, with a prefix: "", "prefill_", "decode_".
struct Layout {
  std::int64_t tensor = 1, data = 1, workers = 1;
};
Layout layout_of(const CsvReader& csv, const std::string& prefix, std::int64_t concurrency) {
  const auto whole = [&](const char* name) {
    return std::max<std::int64_t>(1, std::int64_t(csv.number(prefix + name).value_or(1)));
  };
  Layout layout{whole("tp_size"), whole("attention_dp_size"), 1};
  if (!prefix.empty()) layout.workers = whole("num_workers");
  // The collection's conversion gives most deployments of latent attention as tensor parallel. Those with experts on
  // every device, many requests for each, and sizes that do not divide the heads are data-parallel attention (the
  // recipes' "DEP").
  const bool is_latent = csv.field("model_path").find("Qwen") == std::string_view::npos &&
                         csv.field("model_path").find("lama") == std::string_view::npos &&
                         csv.field("model_path").find("gpt") == std::string_view::npos &&
                         csv.field("model_path").find("MiniMax") == std::string_view::npos;
  const bool spreads_experts = csv.number(prefix + "moe_ep_size").value_or(1) > 1;
  const bool is_odd = layout.tensor > 1 && (layout.tensor & (layout.tensor - 1)) != 0;
  if (is_latent && layout.data == 1 &&
      (is_odd || (spreads_experts && concurrency >= 8 * layout.tensor * layout.workers))) {
    layout.data = layout.tensor;
    layout.tensor = 1;
  }
  return layout;
}

std::string why_not(const ServingRow& row, const CsvReader& csv) {
  if (csv.number("pp_size").value_or(1) > 1) return "pipeline parallel";
  if (row.request.model.empty()) return "no configuration";
  if (row.concurrency < 1) return "number of requests in flight not stated";
  return "";
}

}  // namespace

Result<ServingRows> read_aic_runs(const std::string& folder) {
  ServingRows result;
  const fs::path path = fs::path(folder) / "aic_serving_ttft_tpot.csv.gz";
  if (!fs::exists(path)) return result;
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) break;
    ++result.all;
    ServingRow row;
    row.source = "aic";
    row.network = std::string(csv.field("model_path"));
    row.precision = std::string(csv.field("precision"));
    row.mode = std::string(csv.field("mode"));
    row.engine = std::string(csv.field("backend"));
    row.version = std::string(csv.field("backend_version"));
    row.device = device_id_of(csv.field("system"));
    const std::string data_source(csv.field("silicon_data_source"));
    row.concurrency = number_after(data_source, "silicon_concurrency=");
    if (row.concurrency == 0) row.concurrency = std::int64_t(csv.number("batch_size").value_or(0));
    row.ttft_ms = csv.number("silicon_ttft_ms").value_or(0);
    row.tpot_ms = csv.number("silicon_tpot_ms").value_or(0);
    Request& r = row.request;
    r.model = configuration_of(row.network, row.precision, folder);
    r.devices = {row.device};
    r.engine = row.engine;
    set_precision(r.model, row.precision, r);
    // The public runs draw lengths evenly between 0.8 and 1 of the nominal ones; the others have them fixed.
    const bool is_fixed = data_source.find("gap-analysis") != std::string::npos;
    const double share = is_fixed ? 1 : 0.9;
    r.input_tokens = std::int64_t(std::max(1.0, share * csv.number("isl").value_or(1)));
    r.output_tokens = std::int64_t(std::max(1.0, share * csv.number("osl").value_or(1)));
    r.input_cv = r.output_cv = is_fixed ? 0 : 0.2 / std::sqrt(12.0) / 0.9;
    r.concurrency = row.concurrency;
    if (row.mode == "disagg") {
      const Layout prefill = layout_of(csv, "prefill_", row.concurrency),
                   decode = layout_of(csv, "decode_", row.concurrency);
      r.prefill_instances = prefill.workers;
      r.decode_instances = decode.workers;
      r.prefill_tensor_parallel = prefill.tensor;
      r.prefill_attention_data_parallel = prefill.data;
      r.parallel.degrees.tensor = decode.tensor;
      r.attention_data_parallel = decode.data;
    } else {
      const Layout layout = layout_of(csv, "", row.concurrency);
      r.parallel.degrees.tensor = layout.tensor;
      r.attention_data_parallel = layout.data;
    }
    if (const std::string why = why_not(row, csv); !why.empty()) {
      ++result.skipped[why];
      continue;
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

Result<ServingRows> read_argonne_runs(const std::string& folder) {
  constexpr std::pair<std::string_view, std::string_view> kHardware[] = {{"Nvidia A100 GPU", "a100-sxm-40gb"},
                                                                         {"Nvidia H100 GPU", "h100-sxm"},
                                                                         {"Nvidia GH200 GPU", "gh200-96gb"},
                                                                         {"AMD MI300X GPU", "mi300x"},
                                                                         {"AMD MI250 GPU", "mi250"}};
  constexpr std::pair<std::string_view, std::string_view> kFrameworks[] = {
      {"vLLM", "vllm"}, {"TensorRT-LLM", "trtllm"}, {"llama.cpp", "llama.cpp"}};
  constexpr std::pair<std::string_view, std::string_view> kModels[] = {{"meta-llama/Llama-2-7b-hf", "llama-2-7b"},
                                                                       {"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
                                                                       {"mistralai/Mistral-7B-v0.1", "mistral-7b"},
                                                                       {"meta-llama/Llama-2-70b-hf", "llama-2-70b"}};
  const auto named = [](const auto& table, std::string_view name) {
    for (const auto& [theirs, ours] : table) {
      if (theirs == name) return std::string(ours);
    }
    return std::string();
  };
  ServingRows result;
  const fs::path path = fs::path(folder) / "argonne_llm_inference_bench.csv.gz";
  if (!fs::exists(path)) return result;
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) break;
    ++result.all;
    ServingRow row;
    row.source = "argonne";
    row.network = std::string(csv.field("model"));
    row.device = named(kHardware, csv.field("hardware"));
    row.engine = named(kFrameworks, csv.field("framework"));
    row.precision = "fp16";
    row.latency_ms = csv.number("latency_s").value_or(0) * 1e3;
    Request& r = row.request;
    r.model = named(kModels, csv.field("model"));
    if (row.device.empty() || row.engine.empty() || r.model.empty() || !csv.field("variant").empty() ||
        row.latency_ms <= 0 || csv.number("output_tokens").value_or(0) <= 1) {
      ++result.skipped["other devices, engines and quantised variants"];
      continue;
    }
    row.concurrency = std::int64_t(csv.number("batch").value_or(1));
    r.devices = {row.device};
    r.engine = row.engine;
    r.precision = Precision::Fp16;
    r.parallel.degrees.tensor = std::int64_t(csv.number("devices").value_or(1));
    r.input_tokens = std::int64_t(csv.number("input_tokens").value_or(1));
    r.output_tokens = std::int64_t(csv.number("output_tokens").value_or(1));
    r.concurrency = row.concurrency;
    result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace forerun
