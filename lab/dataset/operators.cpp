#include "dataset/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/csv.hpp"
#include "dataset/campaign_facts.hpp"
#include "dataset/one_operator.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;

// A row's numbers by column; 0 when absent.
class Fields {
 public:
  explicit Fields(const CsvReader& csv) : csv_(csv) {}
  [[nodiscard]] std::int64_t operator()(std::string_view name) const {
    return std::int64_t(csv_.number(name).value_or(0));
  }
  [[nodiscard]] std::string_view text(std::string_view name) const { return csv_.field(name); }
  [[nodiscard]] Dims image() const {
    return {(*this)("batch"), (*this)("in_channels"), (*this)("height"), (*this)("width")};
  }
  [[nodiscard]] Ints list(std::string_view name) const {  // "1x24x64"
    Ints numbers;
    std::string_view rest = text(name);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('x'), rest.size());
      numbers.push_back(std::int64_t(parse_number(rest.substr(0, end)).value_or(0)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return numbers;
  }

 private:
  const CsvReader& csv_;
};

using Build = void (*)(OneOperator&, const Fields&);
struct OperatorRow {
  std::string_view op;
  Build build;
  std::string_view only = "";  // of its kernels, those with this label
};

void conv2d(OneOperator& o, const Fields& f) {
  std::vector<ValueId> in = {o.input(f.image()),
                             o.weight({f("out_channels"), f("in_channels") / std::max<std::int64_t>(1, f("groups")),
                                       f("kernel_h"), f("kernel_w")})};
  if (f("bias") != 0) in.push_back(o.weight({f("out_channels")}));
  o.apply("Conv", std::move(in),
          {{"strides", Ints{f("stride"), f("stride")}},
           {"group", f("groups")},
           {"dilations", Ints{f("dilation"), f("dilation")}},
           {"kernel_shape", Ints{f("kernel_h"), f("kernel_w")}},
           {"pads", Ints{f("padding_h"), f("padding_w"), f("padding_h"), f("padding_w")}}});
}
void conv3d(OneOperator& o, const Fields& f) {
  const Ints k = {f("kernel_d"), f("kernel_h"), f("kernel_w")};
  const ValueId x = o.input({f("batch"), f("in_channels"), f("depth"), f("height"), f("width")});
  o.apply(
      "Conv",
      {x, o.weight({f("out_channels"), f("in_channels") / std::max<std::int64_t>(1, f("groups")), k[0], k[1], k[2]})},
      {{"strides", Ints{f("stride_d"), f("stride"), f("stride")}},
       {"group", f("groups")},
       {"kernel_shape", k},
       {"pads", Ints{k[0] / 2, k[1] / 2, k[2] / 2, k[0] / 2, k[1] / 2, k[2] / 2}}});
}
void conv_transpose2d(OneOperator& o, const Fields& f) {
  std::vector<ValueId> in = {o.input(f.image()),
                             o.weight({f("in_channels"), f("out_channels"), f("kernel_h"), f("kernel_w")})};
  if (f("bias") != 0) in.push_back(o.weight({f("out_channels")}));
  o.apply("ConvTranspose", std::move(in),
          {{"strides", Ints{f("stride"), f("stride")}},
           {"kernel_shape", Ints{f("kernel_h"), f("kernel_w")}},
           {"pads", Ints{f("padding_h"), f("padding_h"), f("padding_h"), f("padding_h")}}});
}
void linear(OneOperator& o, const Fields& f) {
  std::vector<ValueId> in = {o.input({f("m"), f("k")}), o.weight({f("n"), f("k")})};
  if (f("bias") != 0) in.push_back(o.weight({f("n")}));
  o.apply("Gemm", std::move(in), {{"transB", std::int64_t{1}}});
}
void bmm(OneOperator& o, const Fields& f) {
  o.apply("MatMul", {o.input({f("batch"), f("m"), f("k")}), o.input({f("batch"), f("k"), f("n")})});
}
void attention(OneOperator& o, const Fields& f) {
  const Dims kv = {f("batch"), f("kv_heads"), f("kv_len"), f("head_dim")};
  const ValueId q = o.input({f("batch"), f("heads"), f("query_len"), f("head_dim")});
  const ValueId k = o.input(kv);
  o.apply("Attention", {q, k, o.input(kv)},
          {{"is_causal", f("causal")}, {"q_num_heads", f("heads")}, {"kv_num_heads", f("kv_heads")}});
}
void layer_norm(OneOperator& o, const Fields& f) {
  o.apply("LayerNormalization", {o.input({f("rows"), f("cols")}), o.weight({f("cols")}), o.weight({f("cols")})},
          {{"axis", std::int64_t{-1}}});
}
void rms_norm(OneOperator& o, const Fields& f) {
  o.apply("RMSNormalization", {o.input({f("rows"), f("cols")}), o.weight({f("cols")})}, {{"axis", std::int64_t{-1}}});
}
void batch_norm(OneOperator& o, const Fields& f) {
  const Dims c = {f("in_channels")};
  o.apply("BatchNormalization", {o.input(f.image()), o.weight(c), o.weight(c), o.weight(c), o.weight(c)});
}
void group_norm(OneOperator& o, const Fields& f) {
  const Dims c = {f("in_channels")};
  o.apply("GroupNormalization", {o.input(f.image()), o.weight(c), o.weight(c)}, {{"num_groups", f("groups")}});
}
void softmax(OneOperator& o, const Fields& f) {
  o.apply("Softmax", {o.input({f("rows"), f("cols")})}, {{"axis", std::int64_t{-1}}});
}
void unary(OneOperator& o, const Fields& f) {
  static const std::map<std::string_view, std::string_view> kNames = {{"relu", "Relu"},
                                                                      {"gelu", "Gelu"},
                                                                      {"gelu_tanh", "Gelu"},
                                                                      {"silu", "Swish"},
                                                                      {"hardswish", "HardSwish"},
                                                                      {"hardsigmoid", "HardSigmoid"},
                                                                      {"sigmoid", "Sigmoid"},
                                                                      {"tanh", "Tanh"},
                                                                      {"relu6", "Clip"},
                                                                      {"exp", "Exp"},
                                                                      {"scale", "Neg"},
                                                                      {"pow2", "Sqrt"},
                                                                      {"erf", "Erf"},
                                                                      {"copy", "Abs"}};
  const auto found = kNames.find(f.text("function"));
  o.apply(found == kNames.end() ? "Relu" : found->second, {o.input({f("elements")})});
}
void binary(OneOperator& o, const Fields& f) {
  static const std::map<std::string_view, std::string_view> kNames = {
      {"add", "Add"}, {"mul", "Mul"}, {"sub", "Sub"}, {"div", "Div"}};
  const auto found = kNames.find(f.text("function"));
  const ValueId x = o.input({f("elements")});
  o.apply(found == kNames.end() ? "Add" : found->second, {x, o.input({f("elements")})});
}
void bias_add(OneOperator& o, const Fields& f) {
  o.apply("Add", {o.input({f("rows"), f("cols")}), o.weight({f("cols")})});
}
void channel_scale(OneOperator& o, const Fields& f) {
  o.apply("Mul", {o.input(f.image()), o.input({f("batch"), f("in_channels"), 1, 1})});
}
void max_pool2d(OneOperator& o, const Fields& f) {
  o.apply("MaxPool", {o.input(f.image())},
          {{"kernel_shape", Ints{f("kernel_h"), f("kernel_h")}},
           {"strides", Ints{f("stride"), f("stride")}},
           {"pads", Ints{f("padding_h"), f("padding_h"), f("padding_h"), f("padding_h")}}});
}
void avg_pool2d(OneOperator& o, const Fields& f) {
  o.apply("AveragePool", {o.input(f.image())},
          {{"kernel_shape", Ints{f("kernel_h"), f("kernel_h")}},
           {"strides", Ints{f("stride"), f("stride")}},
           {"pads", Ints{f("padding_h"), f("padding_h"), f("padding_h"), f("padding_h")}}});
}
void adaptive_avg_pool2d(OneOperator& o, const Fields& f) {
  if (f("out_size") == 1) {
    o.apply("GlobalAveragePool", {o.input(f.image())});
    return;
  }
  const std::int64_t side = std::max<std::int64_t>(1, f("height") / std::max<std::int64_t>(1, f("out_size")));
  o.apply("AveragePool", {o.input(f.image())}, {{"kernel_shape", Ints{side, side}}, {"strides", Ints{side, side}}});
}
void mean(OneOperator& o, const Fields& f) {
  o.apply("ReduceMean", {o.input({f("batch"), f("rows"), f("cols")}), o.literal({f("axis")})},
          {{"keepdims", std::int64_t{0}}});
}
void embedding(OneOperator& o, const Fields& f) {
  o.apply("Gather", {o.weight({f("rows"), f("cols")}), o.input({f("m")}, DType::Int64)}, {{"axis", std::int64_t{0}}});
}
void concat(OneOperator& o, const Fields& f) {
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < f("inputs"); ++i)
    parts.push_back(o.input({f("batch"), f("in_channels"), f("height") * f("width")}));
  o.apply("Concat", std::move(parts), {{"axis", std::int64_t{1}}});
}
void upsample(OneOperator& o, const Fields& f) {
  const Dims x = f.image();
  o.apply("Resize", {o.input(x), kNoValue, kNoValue, o.literal({x[0], x[1], x[2] * f("scale"), x[3] * f("scale")})},
          {{"mode", std::string(f.text("function") == "bilinear" ? "linear" : "nearest")}});
}
// A permutation that a reshape makes real: PyTorch copies there.
void permute(OneOperator& o, const Fields& f) {
  const Dims shape = f.list("shape");
  std::int64_t all = 1;
  for (const std::int64_t d : shape) all *= d;
  o.apply("Reshape", {o.apply("Transpose", {o.input(shape)}, {{"perm", f.list("order")}}), o.literal({all})});
}

// The parts of a training step, as profiles name them, inside the smallest graph that has them.
void conv_bias(OneOperator& o, const Fields& f) {
  o.apply("Conv", {o.input(f.image()), o.weight({f("in_channels"), 1, 1, 1}), o.weight({f("in_channels")})},
          {{"group", f("in_channels")}, {"kernel_shape", Ints{1, 1}}});
}
void linear_bias(OneOperator& o, const Fields& f) {
  o.apply("Gemm", {o.input({f("m"), 1}), o.weight({f("n"), 1}), o.weight({f("n")})}, {{"transB", std::int64_t{1}}});
}
void accumulate(OneOperator& o, const Fields& f) {
  const ValueId x = o.apply("Mul", {o.input({f("elements")}), o.weight({1})});
  o.apply("Add", {o.apply("Relu", {x}), o.apply("Sigmoid", {x})});
}
void autocast(OneOperator& o, const Fields& f) {
  o.apply("MatMul", {o.input({1, f("elements")}), o.weight({f("elements"), 1})});
}
void optimizer(OneOperator& o, const Fields& f) {
  const std::int64_t tensors = std::max<std::int64_t>(1, f("tensors"));
  ValueId x = o.input({1});
  for (std::int64_t i = 0; i < tensors; ++i)
    x = o.apply("Mul", {x, o.weight({std::max<std::int64_t>(1, f("elements") / tensors)})});
}

constexpr OperatorRow kOperators[] = {{"conv2d", conv2d},
                                      {"conv3d", conv3d},
                                      {"conv_transpose2d", conv_transpose2d},
                                      {"linear", linear},
                                      {"bmm", bmm},
                                      {"attention", attention},
                                      {"layer_norm", layer_norm},
                                      {"rms_norm", rms_norm},
                                      {"batch_norm", batch_norm},
                                      {"group_norm", group_norm},
                                      {"softmax", softmax},
                                      {"unary", unary},
                                      {"relu_inplace", unary},
                                      {"binary", binary},
                                      {"bias_add", bias_add},
                                      {"channel_scale", channel_scale},
                                      {"max_pool2d", max_pool2d},
                                      {"avg_pool2d", avg_pool2d},
                                      {"adaptive_avg_pool2d", adaptive_avg_pool2d},
                                      {"mean", mean},
                                      {"embedding", embedding},
                                      {"concat", concat},
                                      {"upsample", upsample},
                                      {"permute", permute},
                                      {"conv2d_weight", conv2d, "conv_weight_gradient"},
                                      {"conv3d_weight", conv3d, "conv_weight_gradient"},
                                      {"conv_bias", conv_bias, "bias_gradient"},
                                      {"conv_bias_addition", conv_bias, "bias"},
                                      {"linear_bias", linear_bias, "bias_gradient"},
                                      {"linear_input_gradient", linear, "input_gradient"},
                                      {"linear_weight_gradient", linear, "weight_gradient"},
                                      {"accumulate", accumulate, "accumulate"},
                                      {"autocast", autocast, "autocast"},
                                      {"optimizer", optimizer}};

// What a row timed: an operator of inference or of training, its gradient, or the optimiser's step.
OperatorPart part_of(std::string_view direction) {
  return direction == "backward"   ? OperatorPart::Backward
         : direction == "training" ? OperatorPart::TrainingForward
         : direction == "step"     ? OperatorPart::Update
                                   : OperatorPart::Forward;
}

void as_in_networks(std::vector<Kernel>& kernels, double group_elements) {
  for (Kernel& kernel : kernels) {
    if (kernel.stage == Stage::Forward) {
      kernel.label = "group_norm";
      kernel.launches = 2;
      kernel.read_bytes *= 2;
      kernel.weight_bytes = 0;
    }
    kernel.inner = group_elements;
  }
}

Status load_file(const fs::path& path, const std::string& device, std::vector<OperatorExample>& out) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  const Fields fields(csv);
  const std::string source = path.parent_path().filename().string();
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return ok();
    const auto* row = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](const OperatorRow& r) { return r.op == csv.field("op"); });
    const auto latency_us = csv.number("latency_us");
    const auto precision = parse_precision(csv.field("precision"));
    if (row == std::end(kOperators) || !latency_us || *latency_us <= 0 || !precision) continue;
    if (csv.field("direction") == "step" && csv.field("timing") == "eager")
      continue;  // the host's time, not the device's
    OperatorExample example;
    example.workload.precision = example.workload.binding.precision = *precision;
    example.workload.runtime = Runtime::Graph;
    example.device = csv.field("device").empty() ? device : std::string(csv.field("device"));
    example.latency_ms = *latency_us / 1e3;
    example.host_included = csv.field("timing") == "eager";
    example.host_us = csv.number("host_us").value_or(0);
    example.op = row->op;
    example.source = source;
    example.row_id = std::string(csv.field("id"));
    OneOperator graph;
    row->build(graph, fields);
    if (const auto optimizer = parse_optimizer(csv.field("function"))) example.workload.optimizer = *optimizer;
    auto kernels = graph.kernels(example.workload, part_of(csv.field("direction")));
    if (!kernels) return bad_input(fmt::format("{}: line {}: {}", path.string(), csv.line(), kernels.error().message));
    if (kernels->empty()) continue;  // the gradient of a sum is passed on as it is
    if (!row->only.empty()) std::erase_if(*kernels, [&](const Kernel& kernel) { return kernel.label != row->only; });
    if (kernels->empty())
      return bad_input(fmt::format("{}: line {}: no kernel is called {}", path.string(), csv.line(), row->only));
    example.kernels = std::move(*kernels);
    for (Kernel& kernel : example.kernels) kernel.in_step = csv.field("timing") == "profile";
    if (csv.number("channels_last").value_or(0) > 0) {
      for (Kernel& kernel : example.kernels) {
        if (kernel.label == std::string_view("Conv")) kernel.label = kChannelsLastConv;
      }
    }
    // Exporters take group norms apart, and networks show them under this name with the length of a group.
    if (example.op == "group_norm")
      as_in_networks(example.kernels, double(fields("in_channels") / std::max<std::int64_t>(1, fields("groups")) *
                                             fields("height") * fields("width")));
    out.push_back(std::move(example));
  }
}

}  // namespace

Result<std::vector<OperatorExample>> load_operator_campaigns(const std::string& folder) {
  std::vector<OperatorExample> all;
  if (!fs::is_directory(folder)) return not_found(folder + ": no such folder");
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    for (const char* name : {"operators.csv", "operators.csv.xz"}) {
      if (fs::exists(entry.path() / name)) found.push_back(entry.path() / name);
    }
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& file : found) {
    FORERUN_TRY(const CampaignFacts facts, read_campaign_facts(file.parent_path().string()));
    FORERUN_CHECK(load_file(file, facts.device, all));
  }
  return all;
}

}  // namespace forerun
