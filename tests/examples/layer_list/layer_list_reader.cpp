#include "layer_list/layer_list_reader.hpp"

#include <charconv>

namespace forerun {
namespace {

constexpr std::string_view kFirstLine = "layers 1\n";
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::size_t kMaxLayers = 10000;

ValueId add_value(Graph& graph, std::string name, Dims dims, ValueRole role) {
  Value value;
  value.name = std::move(name);
  value.dtype = DType::Float32;
  value.has_shape = !dims.empty();  // of computed values: inference finds it
  value.role = role;
  value.dims = std::move(dims);
  if (role == ValueRole::Input) value.dim_names = {"batch", ""};
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size() - 1);
}

void add_node(Graph& graph, OpKind kind, std::string type, std::vector<ValueId> inputs, ValueId output) {
  Node node;
  node.kind = kind;
  node.name = type + "_" + std::to_string(graph.main().nodes.size());
  node.op_type = std::move(type);
  node.inputs = std::move(inputs);
  node.outputs = {output};
  graph.main().nodes.push_back(std::move(node));
}

// Adds the layer that a line describes after `last` (kNoValue before the input); false when it describes none.
bool add_layer(Graph& graph, std::string_view line, ValueId& last, std::int64_t& width) {
  if (line == "relu" && last != kNoValue) {
    const ValueId result = add_value(graph, "value" + std::to_string(graph.values.size()), {}, ValueRole::Computed);
    add_node(graph, OpKind::Relu, "relu", {last}, result);
    last = result;
    return true;
  }
  const std::string_view word = line.substr(0, line.find(' '));
  const std::string_view number = word.size() < line.size() ? line.substr(word.size() + 1) : "";
  std::int64_t wanted = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), wanted);
  if (parsed.ptr != number.data() + number.size() || wanted <= 0 || wanted > kMaxWidth) return false;
  if (word == "input" && last == kNoValue) {
    last = add_value(graph, "input", {kUnknownDim, wanted}, ValueRole::Input);
    graph.main().inputs = {last};
  } else if (word == "linear" && last != kNoValue) {
    const std::string name = std::to_string(graph.values.size());
    const ValueId weight = add_value(graph, "weight" + name, {width, wanted}, ValueRole::Weight);
    const ValueId result = add_value(graph, "value" + name, {}, ValueRole::Computed);
    add_node(graph, OpKind::MatMul, "linear", {last, weight}, result);
    last = result;
  } else {
    return false;
  }
  width = wanted;
  return true;
}

}  // namespace

bool is_layer_list(const Source& source) { return source.bytes.starts_with(kFirstLine); }

Result<std::unique_ptr<Network>> read_layer_list_source(const Source& source) {
  Graph graph;
  graph.name = source.path.stem().string();
  graph.format = "layer list";
  graph.blocks.emplace_back();
  std::string_view rest = source.bytes;
  rest.remove_prefix(std::min(rest.size(), kFirstLine.size()));
  ValueId last = kNoValue;
  std::int64_t width = 0;
  for (std::size_t number = 2; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (number > kMaxLayers) return Error{ErrorKind::TooLarge, source.path.string() + ": more than 10000 layers"};
    if (!add_layer(graph, line, last, width)) {
      return bad_input(source.path.string() + ": line " + std::to_string(number) +
                       ": neither one 'input WIDTH' nor, after it, 'linear WIDTH' or 'relu'");
    }
  }
  if (graph.main().nodes.empty()) return bad_input(source.path.string() + ": no layer after the input");
  graph.main().outputs = {last};
  FORERUN_CHECK(verify(graph));
  return make_fixed_network(std::move(graph));
}

}  // namespace forerun
