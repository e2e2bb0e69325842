// Vidur's sweep of decoder layers: each row is a layer at a number of tokens and a tensor parallelism, a column an
// operator.
#include <fmt/format.h>

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

struct Layer {  // one device's share
  std::int64_t tokens, hidden, inner, heads, kv_heads, head_dim, vocabulary;
  bool gated;
};

void linear(OneOperator& o, std::int64_t tokens, std::int64_t in, std::int64_t out) {
  o.apply("Gemm", {o.input({tokens, in}), o.weight({out, in})}, {{"transB", std::int64_t{1}}});
}
void norm(OneOperator& o, const Layer& l) {
  o.apply("RMSNormalization", {o.input({l.tokens, l.hidden}), o.weight({l.hidden})}, {{"axis", std::int64_t{-1}}});
}

struct LayerColumn {
  std::string_view name;
  void (*build)(OneOperator&, const Layer&);
};
// Not here: emb (Vidur's share of a divided vocabulary is not said) and attn_rope (its own fused kernel).
constexpr LayerColumn kColumns[] = {
    {"attn_pre_proj",
     [](OneOperator& o, const Layer& l) { linear(o, l.tokens, l.hidden, (l.heads + 2 * l.kv_heads) * l.head_dim); }},
    {"attn_post_proj", [](OneOperator& o, const Layer& l) { linear(o, l.tokens, l.heads * l.head_dim, l.hidden); }},
    {"mlp_up_proj", [](OneOperator& o, const Layer& l) { linear(o, l.tokens, l.hidden, l.inner * (l.gated ? 2 : 1)); }},
    {"mlp_down_proj", [](OneOperator& o, const Layer& l) { linear(o, l.tokens, l.inner, l.hidden); }},
    {"input_layernorm", norm},
    {"post_attention_layernorm", norm},
    {"mlp_act",
     [](OneOperator& o, const Layer& l) {
       const Dims dims = {l.tokens, l.inner};
       const ValueId x = o.input(dims);
       o.apply(l.gated ? "Mul" : "Gelu", l.gated ? std::vector<ValueId>{x, o.input(dims)} : std::vector<ValueId>{x});
     }},
    {"add",
     [](OneOperator& o, const Layer& l) {
       const Dims dims = {l.tokens, l.hidden};
       const ValueId x = o.input(dims);
       o.apply("Add", {x, o.input(dims)});
     }},
};

}  // namespace

Result<std::vector<OperatorExample>> load_layer_operators(const std::string& folder, const OperatorOptions& options) {
  std::vector<OperatorExample> all;
  const fs::path path = fs::path(folder) / "vidur_llm_layer_ops.csv.gz";
  if (!fs::exists(path)) return all;
  std::map<std::string, std::size_t> rows_of;
  for (const bool counting : {true, false}) {
    FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
    const auto number = [&](std::string_view name) { return std::int64_t(csv.number(name).value_or(0)); };
    while (true) {
      FORERUN_TRY(const bool more, csv.next());
      if (!more) break;
      const std::string gpu(csv.field("gpu"));
      if (counting) {
        ++rows_of[gpu];
        continue;
      }
      if (!is_chosen(std::to_string(csv.line()), options.rows_per_device, rows_of[gpu])) continue;
      const std::int64_t tp = std::max<std::int64_t>(1, number("tp")), heads = number("n_head");
      if (heads < 1) continue;
      const Layer layer{number("num_tokens"),
                        number("n_embd"),
                        number("n_expanded_embd") / tp,
                        heads / tp,
                        std::max<std::int64_t>(1, number("n_kv_head") / tp),
                        number("n_embd") / heads,
                        number("vocab_size"),
                        csv.field("use_gated_mlp") == "True"};
      for (const LayerColumn& column : kColumns) {
        const auto latency = csv.number(column.name);
        if (!latency || *latency <= 0) continue;
        OperatorExample example;
        example.workload.precision = example.workload.binding.precision = Precision::Fp16;
        example.workload.runtime = Runtime::Graph;
        example.device = device_id_of(gpu);
        example.latency_ms = *latency;
        example.op = std::string(column.name);
        example.source = "vidur_llm_layer_ops";
        example.row_id = std::to_string(csv.line());
        OneOperator graph;
        column.build(graph, layer);
        auto kernels = graph.kernels(example.workload);
        if (!kernels)
          return bad_input(fmt::format("{}: line {}: {}", path.string(), csv.line(), kernels.error().message));
        example.kernels = std::move(*kernels);
        all.push_back(std::move(example));
      }
    }
  }
  return all;
}

}  // namespace forerun
