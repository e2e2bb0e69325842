// The public operator sweeps: NeuSight (true fp32, timed from the host) and AIConfigurator (kernels inside serving
// engines).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/csv.hpp"
#include "dataset/one_operator.hpp"
#include "dataset/operators.hpp"
#include "dataset/splits.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;

struct PublicRow {
  const CsvReader& csv;
  [[nodiscard]] std::int64_t operator()(std::string_view name) const {
    return std::int64_t(csv.number(name).value_or(0));
  }
};

struct PublicOperators {
  std::string_view file;
  std::string_view device_column;
  std::string_view dtype_column;  // empty: every row is fp32 without TF32
  bool host_included;
  double timing_us;     // added by the way of timing, see below
  double until_launch;  // share of a host's call that lies before its kernel
  KernelSetting setting;
  bool engines;  // only with OperatorOptions::engines
  // Builds the operator, or returns false for a row that is left out.
  bool (*build)(OneOperator&, const PublicRow&);
};

// Its N is the depth: times go up in steps with M and K, the sides of the result.
bool neusight_matmul(OneOperator& o, const PublicRow& r) {
  if (r.csv.field("op") == "linear") {
    o.apply("Gemm", {o.input({r("B") * r("M"), r("N")}), o.weight({r("K"), r("N")}), o.weight({r("K")})},
            {{"transB", std::int64_t{1}}});
  } else {
    o.apply("MatMul", {o.input({r("B"), r("M"), r("N")}), o.input({r("B"), r("N"), r("K")})});
  }
  return true;
}

bool neusight_conv(OneOperator& o, const PublicRow& r) {
  const std::int64_t k = r("kernel_size"), p = r("padding"), side = r("input_size");
  if (side + 2 * p < k) return false;
  o.apply("Conv", {o.input({r("B"), r("in_ch"), side, side}), o.weight({r("out_ch"), r("in_ch"), k, k})},
          {{"strides", Ints{r("stride"), r("stride")}}, {"kernel_shape", Ints{k, k}}, {"pads", Ints{p, p, p, p}}});
  return true;
}

bool neusight_vector(OneOperator& o, const PublicRow& r) {
  static const std::map<std::string_view, std::string_view> kUnary = {
      {"addu", "Neg"},  {"divu", "Neg"},  {"mulu", "Neg"}, {"powu", "Sqrt"},
      {"gelu", "Gelu"}, {"relu", "Relu"}, {"tanh", "Tanh"}};
  static const std::map<std::string_view, std::string_view> kBinary = {
      {"add", "Add"}, {"mul", "Mul"}, {"div", "Div"}, {"pow", "Pow"}};
  const std::string_view op = r.csv.field("op");
  const Dims dims = {r("B"), r("H")};
  if (const auto found = kUnary.find(op); found != kUnary.end()) {
    o.apply(found->second, {o.input(dims)});
  } else if (const auto two = kBinary.find(op); two != kBinary.end()) {
    const ValueId x = o.input(dims);
    o.apply(two->second, {x, o.input(dims)});
  } else if (op == "softmax") {
    o.apply("Softmax", {o.input(dims)}, {{"axis", std::int64_t{-1}}});
  } else if (op == "ln") {
    o.apply("LayerNormalization", {o.input(dims), o.weight({dims[1]}), o.weight({dims[1]})},
            {{"axis", std::int64_t{-1}}});
  } else {
    return false;
  }
  return true;
}

bool aic_gemm(OneOperator& o, const PublicRow& r) {
  o.apply("Gemm", {o.input({r("m"), r("k")}), o.weight({r("n"), r("k")})}, {{"transB", std::int64_t{1}}});
  return true;
}

bool aic_attention(OneOperator& o, const PublicRow& r, std::int64_t queries, std::int64_t keys, std::int64_t kv_heads,
                   bool causal) {
  if (r("window_size") > 0 || keys < 1) return false;
  if (!r.csv.field("kv_cache_dtype").empty() && r.csv.field("kv_cache_dtype") != "bfloat16") return false;
  const Dims kv = {r("batch_size"), kv_heads, keys, r("head_dim")};
  const ValueId q = o.input({r("batch_size"), r("num_heads"), queries, r("head_dim")});
  const ValueId k = o.input(kv);
  o.apply("Attention", {q, k, o.input(kv)},
          {{"is_causal", std::int64_t{causal}}, {"q_num_heads", r("num_heads")}, {"kv_num_heads", kv_heads}});
  return true;
}
bool aic_context(OneOperator& o, const PublicRow& r) {
  return r("step") == 0 && aic_attention(o, r, r("isl"), r("isl"), r("num_key_value_heads"), true);
}
bool aic_generation(OneOperator& o, const PublicRow& r) {
  return aic_attention(o, r, 1, r("step") + 1, r("num_key_value_heads"), false);
}
bool aic_encoder(OneOperator& o, const PublicRow& r) {
  return aic_attention(o, r, r("isl"), r("isl"), r("num_heads"), false);
}

// Experts of one device: its share of the experts, the tokens routed to them, each expert a share of the inner size.
bool aic_moe(OneOperator& o, const PublicRow& r) {
  const std::int64_t experts =
      std::max<std::int64_t>(1, r("num_experts") / std::max<std::int64_t>(1, r("moe_ep_size")));
  const std::int64_t inner = r("inter_size") / std::max<std::int64_t>(1, r("moe_tp_size")), hidden = r("hidden_size");
  const double routed = double(r("num_tokens") * r("topk")) / double(std::max<std::int64_t>(1, r("moe_ep_size")));
  const double touched =
      double(experts) * (1 - std::pow(1 - double(r("topk")) / double(r("num_experts")), double(r("num_tokens"))));
  if (inner < 1) return false;
  o.apply("MoeExperts",
          {o.input({std::max<std::int64_t>(1, std::llround(routed)), hidden}), o.weight({experts, hidden, 2 * inner}),
           o.weight({experts, inner, hidden})},
          {{"num_experts", experts},
           {"top_k", std::int64_t{1}},
           {"intermediate", inner},
           {"gated", std::int64_t{1}},
           {"experts_touched", touched}},
          "forerun");
  return true;
}

// DeepSeek's latent attention. Prompts: keys of 192 and values of 128 elements a head. Decode: all heads read one
// latent of 576.
bool aic_mla_context(OneOperator& o, const PublicRow& r) {
  if (r.csv.field("backend") != "trtllm" || r.csv.field("kv_cache_dtype") != "bfloat16") return false;
  const std::int64_t b = r("batch_size"), heads = r("num_heads"), tokens = r("isl");
  const ValueId q = o.input({b, heads, tokens, 192});
  const ValueId k = o.input({b, heads, tokens, 192});
  o.apply("Attention", {q, k, o.input({b, heads, tokens, 128})},
          {{"is_causal", std::int64_t{1}}, {"q_num_heads", heads}, {"kv_num_heads", heads}});
  return true;
}
bool aic_mla_generation(OneOperator& o, const PublicRow& r) {
  if (r.csv.field("backend") != "trtllm" || r.csv.field("kv_cache_dtype") != "bfloat16") return false;
  const std::int64_t b = r("batch_size"), heads = r("num_heads"), keys = r("step") + 1;
  const ValueId q = o.input({b, heads, 1, 576});
  const ValueId k = o.input({b, 1, keys, 576});
  o.apply("Attention", {q, k, o.input({b, 1, keys, 512})},
          {{"is_causal", std::int64_t{0}}, {"q_num_heads", heads}, {"kv_num_heads", std::int64_t{1}}});
  return true;
}

// An engine's attention also writes the cache.
constexpr double kEngineCallUs = 4.7;
// NeuSight took the time between events around one call of PyTorch 2.1: the second event waits for the kernel and for
// the host, whose call is as long as its operator's shortest row on that machine.
constexpr KernelSetting kHostCalls = {.weight_copies = 1, .few_calls = true, .old_library = true};
constexpr double kUntilLaunch = 0.5, kUntilProduct = 0.75;  // a product's call prepares more before its launch
// AIConfigurator goes round six sets of weights: on cards with a large L2, small ones stay there.
constexpr KernelSetting kSixCopies = {.weight_copies = 6}, kOneCopy = {.weight_copies = 1};

constexpr std::array kTables = {
    PublicOperators{"neusight_ops_matmul.csv.gz", "device", "", true, 0, kUntilProduct, kHostCalls, false,
                    neusight_matmul},
    PublicOperators{"neusight_ops_conv.csv.gz", "device", "", true, 0, kUntilLaunch, kHostCalls, false, neusight_conv},
    PublicOperators{"neusight_ops_vector.csv.gz", "device", "", true, 0, kUntilLaunch, kHostCalls, false,
                    neusight_vector},
    PublicOperators{"aic_gemm.csv.gz", "system", "gemm_dtype", false, 0, 0, kSixCopies, false, aic_gemm},
    PublicOperators{"aic_context_attention.csv.gz", "system", "attn_dtype", false, kEngineCallUs, 0, kOneCopy, false,
                    aic_context},
    PublicOperators{"aic_generation_attention.csv.gz", "system", "attn_dtype", false, kEngineCallUs, 0, kOneCopy, false,
                    aic_generation},
    PublicOperators{"aic_encoder_attention.csv.gz", "system", "attn_dtype", false, kEngineCallUs, 0, kOneCopy, false,
                    aic_encoder},
    PublicOperators{"aic_moe.csv.gz", "system", "moe_dtype", false, 0, 0, kOneCopy, true, aic_moe},
    PublicOperators{"aic_mla_context.csv.gz", "system", "mla_dtype", false, 0, 0, kOneCopy, true, aic_mla_context},
    PublicOperators{"aic_mla_generation.csv.gz", "system", "mla_dtype", false, 0, 0, kOneCopy, true,
                    aic_mla_generation},
};

// The number formats that PyTorch networks run in; for engines also those of their quantised kernels that have a
// precision here.
bool dtype_of(std::string_view name, bool engines, Precision& precision) {
  if (name.empty())
    precision = Precision::IeeeFp32;
  else if (engines && (name == "fp8" || name == "fp8_block"))
    precision = Precision::Fp8;
  else if (engines && name == "sq")
    precision = Precision::Int8;
  else if (engines && (name == "int4_wo" || name == "w4a16_mxfp4"))
    precision = Precision::Int4;
  else if (name == "bfloat16")
    precision = Precision::Bf16;
  else if (name == "float16")
    precision = Precision::Fp16;
  else
    return false;
  return true;
}

Status load_table(const PublicOperators& table, const std::string& path, const OperatorOptions& options,
                  std::vector<OperatorExample>& out) {
  // Two passes: count the rows of each device, then take an even choice of them by a hash of the line.
  std::map<std::string, std::size_t> rows_of;
  std::map<std::pair<std::string, std::string>, double> shortest_ms;  // by device and operator
  for (const bool counting : {true, false}) {
    FORERUN_TRY(CsvReader csv, CsvReader::open(path));
    while (true) {
      FORERUN_TRY(const bool more, csv.next());
      if (!more) break;
      Precision precision = Precision::Fp32;
      if (!dtype_of(table.dtype_column.empty() ? "" : csv.field(table.dtype_column), options.engines, precision))
        continue;
      if (!options.engines && csv.column("backend") && csv.field("backend") == "trtllm") continue;
      const std::string spelled(csv.field(table.device_column));
      const std::string op =
          csv.column("op") ? std::string(csv.field("op")) : std::string(table.file.substr(0, table.file.find('.')));
      const auto latency = csv.number("latency_ms");
      if (counting) {
        ++rows_of[spelled];
        if (!table.host_included || !latency || *latency <= 0) continue;
        double& least = shortest_ms.try_emplace({spelled, op}, *latency).first->second;
        least = std::min(least, *latency);
        continue;
      }
      if (!is_chosen(std::to_string(csv.line()), options.rows_per_device, rows_of[spelled])) continue;
      if (!latency || *latency <= 0) continue;
      OperatorExample example;
      example.workload.precision = example.workload.binding.precision = precision;
      example.workload.runtime = Runtime::Graph;
      example.device = device_id_of(spelled);
      example.latency_ms = *latency;
      example.host_included = table.host_included;
      if (table.host_included) example.floor_us = shortest_ms[{spelled, op}] * 1e3;
      example.timing_us = table.timing_us + table.until_launch * example.floor_us;
      example.setting = table.setting;
      example.op = op;
      example.source = std::string(table.file.substr(0, table.file.find('.')));
      example.row_id = std::to_string(csv.line());
      example.engine = std::string(csv.field("backend"));
      if (options.engines && !table.dtype_column.empty())
        example.op = std::string(csv.field(table.dtype_column));  // "fp8_block"
      OneOperator graph;
      if (!table.build(graph, PublicRow{csv})) continue;
      auto kernels = graph.kernels(example.workload);
      if (!kernels) return bad_input(fmt::format("{}: line {}: {}", path, csv.line(), kernels.error().message));
      example.kernels = std::move(*kernels);
      out.push_back(std::move(example));
    }
  }
  return ok();
}

}  // namespace

Result<std::vector<OperatorExample>> load_public_operators(const std::string& folder, const OperatorOptions& options) {
  std::vector<OperatorExample> all;
  for (const PublicOperators& table : kTables) {
    const fs::path path = fs::path(folder) / table.file;
    if (fs::exists(path) && (options.engines || !table.engines))
      FORERUN_CHECK(load_table(table, path.string(), options, all));
  }
  return all;
}

}  // namespace forerun
