#include "service/operator_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "readers/format.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 32;

struct Size {
  std::string_view key;
  std::int64_t otherwise;  // 0: must be given
};

// Sizes by name, complete.
class Sizes {
 public:
  Sizes(const OperatorText& op, std::span<const Size> rows) : op_(op), rows_(rows) {}
  [[nodiscard]] std::int64_t operator[](std::string_view key) const {
    for (const auto& [name, value] : op_.sizes) {
      if (name == key) return value;
    }
    for (const Size& row : rows_) {
      if (row.key == key) return row.otherwise;
    }
    return 0;
  }

 private:
  const OperatorText& op_;
  std::span<const Size> rows_;
};

// A graph of one node.
class Writer {
 public:
  explicit Writer(std::string name) {
    graph_.name = std::move(name);
    graph_.format = "operator";
    graph_.origin.framework = Framework::PyTorch;
    graph_.blocks.emplace_back();
  }
  void input(Dims dims) {
    graph_.main().inputs.push_back(value("x", std::move(dims), ValueRole::Input));
    node_.inputs.push_back(graph_.main().inputs.back());
  }
  void weight(Dims dims, ValueRole role = ValueRole::Weight) {
    const ValueId id = value(fmt::format("w{}", graph_.values.size()), std::move(dims), role);
    node_.inputs.push_back(id);
  }
  void attribute(std::string name, AttributeValue content) {
    node_.attributes.push_back({std::move(name), std::move(content)});
  }
  // Training differentiates for the operands too, as inside a network.
  Result<std::shared_ptr<const Network>> finish(OpKind kind, std::string op_type) {
    for (const ValueId id : graph_.main().inputs) graph_.values[std::size_t(id)].wants_gradient = true;
    node_.kind = kind;
    node_.op_type = std::move(op_type);
    node_.name = graph_.name;
    Value result;
    result.name = "y";
    result.dtype = DType::Float32;
    graph_.values.push_back(std::move(result));
    node_.outputs = {ValueId(graph_.values.size() - 1)};
    graph_.main().outputs = node_.outputs;
    graph_.main().nodes.push_back(std::move(node_));
    FORERUN_CHECK(verify(graph_));
    return std::shared_ptr<const Network>(make_fixed_network(std::move(graph_)));
  }

 private:
  ValueId value(std::string name, Dims dims, ValueRole role) {
    Value made;
    made.name = std::move(name);
    made.dtype = DType::Float32;
    made.has_shape = true;
    made.role = role;
    made.dims = std::move(dims);
    graph_.values.push_back(std::move(made));
    return ValueId(graph_.values.size() - 1);
  }
  Graph graph_;
  Node node_;
};

using Made = Result<std::shared_ptr<const Network>>;
using Ints = std::vector<std::int64_t>;

void window(Writer& writer, const Sizes& s) {
  const std::int64_t kernel = s["kernel"], pad = kernel / 2;
  writer.attribute("kernel_shape", Ints{kernel, kernel});
  writer.attribute("strides", Ints{s["stride"], s["stride"]});
  writer.attribute("pads", Ints{pad, pad, pad, pad});
}

constexpr Size kConvSizes[] = {{"batch", 1},   {"h", 0},      {"w", 0},      {"c", 0},
                               {"filters", 0}, {"kernel", 3}, {"stride", 1}, {"groups", 1}};
Made make_conv(Writer& writer, const Sizes& s) {
  if (s["c"] % s["groups"] != 0 || s["filters"] % s["groups"] != 0)
    return bad_input("--operator conv: groups does not divide c and filters");
  writer.input({s["batch"], s["c"], s["h"], s["w"]});
  writer.weight({s["filters"], s["c"] / s["groups"], s["kernel"], s["kernel"]});
  window(writer, s);
  writer.attribute("group", s["groups"]);
  return writer.finish(OpKind::Conv, "Conv");
}

constexpr Size kGemmSizes[] = {{"m", 0}, {"n", 0}, {"k", 0}};
Made make_gemm(Writer& writer, const Sizes& s) {
  writer.input({s["m"], s["k"]});
  writer.weight({s["k"], s["n"]});
  return writer.finish(OpKind::MatMul, "MatMul");
}

constexpr Size kElementSizes[] = {{"n", 0}};
template <OpKind kKind>
Made make_elementwise(Writer& writer, const Sizes& s) {
  writer.input({s["n"]});
  if (kKind == OpKind::Add) writer.input({s["n"]});
  return writer.finish(kKind, kKind == OpKind::Add ? "Add" : kKind == OpKind::Gelu ? "Gelu" : "Relu");
}

constexpr Size kRowSizes[] = {{"rows", 0}, {"cols", 0}};
Made make_softmax(Writer& writer, const Sizes& s) {
  writer.input({s["rows"], s["cols"]});
  writer.attribute("axis", std::int64_t{-1});
  return writer.finish(OpKind::Softmax, "Softmax");
}
Made make_layer_norm(Writer& writer, const Sizes& s) {
  writer.input({s["rows"], s["cols"]});
  for (int i = 0; i < 2; ++i) writer.weight({s["cols"]});
  writer.attribute("axis", std::int64_t{-1});
  return writer.finish(OpKind::LayerNormalization, "LayerNormalization");
}

constexpr Size kImageSizes[] = {{"batch", 1}, {"h", 0}, {"w", 0}, {"c", 0}};
Made make_batch_norm(Writer& writer, const Sizes& s) {
  writer.input({s["batch"], s["c"], s["h"], s["w"]});
  for (int i = 0; i < 4; ++i) writer.weight({s["c"]}, i < 2 ? ValueRole::Weight : ValueRole::Constant);
  return writer.finish(OpKind::BatchNormalization, "BatchNormalization");
}

constexpr Size kPoolSizes[] = {{"batch", 1}, {"h", 0}, {"w", 0}, {"c", 0}, {"kernel", 2}, {"stride", 2}};
Made make_max_pool(Writer& writer, const Sizes& s) {
  writer.input({s["batch"], s["c"], s["h"], s["w"]});
  window(writer, s);
  return writer.finish(OpKind::MaxPool, "MaxPool");
}

struct Kind {
  std::string_view name;
  std::span<const Size> sizes;
  Made (*make)(Writer& writer, const Sizes& sizes);
};
constexpr Kind kKinds[] = {
    {"conv", kConvSizes, make_conv},
    {"gemm", kGemmSizes, make_gemm},
    {"relu", kElementSizes, make_elementwise<OpKind::Relu>},
    {"gelu", kElementSizes, make_elementwise<OpKind::Gelu>},
    {"add", kElementSizes, make_elementwise<OpKind::Add>},
    {"softmax", kRowSizes, make_softmax},
    {"layer_norm", kRowSizes, make_layer_norm},
    {"batch_norm", kImageSizes, make_batch_norm},
    {"max_pool", kPoolSizes, make_max_pool},
};

const Kind* find_kind(std::string_view name) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<std::int64_t> size_of(std::string_view key, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > kMostSize)
    return bad_input(fmt::format("--operator: {}={} is no whole number from 1 to 2^32", key, in_quotes(text)));
  return value;
}

}  // namespace

std::string OperatorText::text() const {
  std::string result = kind + ":";
  for (const auto& [key, value] : sizes) result += fmt::format("{}{}={}", result.back() == ':' ? "" : ",", key, value);
  return result;
}

Result<OperatorText> parse_operator(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const Kind* kind = find_kind(text.substr(0, colon));
  if (kind == nullptr) {
    std::string names;
    for (const Kind& row : kKinds) names += (names.empty() ? "" : ", ") + std::string(row.name);
    return bad_input("--operator: " + in_quotes(text.substr(0, colon)) + " is none of " + names +
                     "; write it as in conv:h=128,w=96,c=112,filters=56,kernel=3");
  }
  OperatorText op{std::string(kind->name), {}};
  if (colon + 1 >= text.size()) return op;
  for (const std::string_view part : split(text.substr(colon + 1), ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return bad_input("--operator: " + in_quotes(part) + " is not KEY=N");
    FORERUN_CHECK(set_size(op, part.substr(0, equals), part.substr(equals + 1)));
  }
  return op;
}

Status set_size(OperatorText& op, std::string_view key, std::int64_t value) {
  const Kind* kind = find_kind(op.kind);
  const bool is_known =
      std::any_of(kind->sizes.begin(), kind->sizes.end(), [&](const Size& s) { return s.key == key; });
  if (!is_known) {
    std::string keys;
    for (const Size& size : kind->sizes) keys += (keys.empty() ? "" : ", ") + std::string(size.key);
    return bad_input(fmt::format("--operator {}: has no {}; its sizes are {}", op.kind, in_quotes(key), keys));
  }
  for (auto& [name, present] : op.sizes) {
    if (name != key) continue;
    present = value;
    return ok();
  }
  op.sizes.emplace_back(key, value);
  return ok();
}

Status set_size(OperatorText& op, std::string_view key, std::string_view value) {
  FORERUN_TRY(const std::int64_t size, size_of(key, value));
  return set_size(op, key, size);
}

Result<std::shared_ptr<const Network>> operator_network(const OperatorText& op) {
  const Kind* kind = find_kind(op.kind);
  const Sizes sizes(op, kind->sizes);
  for (const Size& size : kind->sizes) {
    if (sizes[size.key] == 0)
      return bad_input(fmt::format("--operator {}: {} is missing, as in {}=64", op.kind, size.key, size.key));
  }
  Writer writer(op.text());
  return kind->make(writer, sizes);
}

Result<SweepText> parse_sweep(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 >= text.size())
    return bad_input("--sweep: " + in_quotes(text) + " is not KEY=V1,V2,…, as in batch=16,32,64");
  SweepText sweep{std::string(text.substr(0, equals)), {}};
  for (const std::string_view value : split(text.substr(equals + 1), ',')) sweep.values.emplace_back(value);
  return sweep;
}

}  // namespace forerun
