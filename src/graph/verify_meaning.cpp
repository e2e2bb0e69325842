#include "graph/verify_meaning.hpp"

#include <algorithm>
#include <array>

namespace forerun {
namespace {

constexpr std::size_t kMaxWarnings = 10;

Error broken(const Value& value, const std::string& what) {
  return internal_error("value '" + value.name + "' " + what);
}

Status check_contents(const Value& value) {
  if (!value.has_shape) return ok();
  if (std::any_of(value.dims.begin(), value.dims.end(), [](std::int64_t d) { return d < kUnknownDim; })) {
    return broken(value, "has a negative dimension");
  }
  if (!value.dim_names.empty() && value.dim_names.size() != value.dims.size()) {
    return broken(value, "has another number of dimension names than dimensions");
  }
  if (!is_stored(value) || !value.literal || value.form != ValueForm::Tensor) return ok();
  const auto size = std::int64_t(std::max(value.literal->ints.size(), value.literal->reals.size()));
  if (size != elements_of(value)) return broken(value, "has other contents than its dimensions say");
  return ok();
}

// A node's window attributes: lists whose length follows from the number of spatial dimensions.
struct WindowAttribute {
  std::string_view name;
  std::size_t per_dimension;
  std::int64_t least;  // of each number
};
constexpr std::array kWindowAttributes = {
    WindowAttribute{"kernel_shape", 1, 1}, WindowAttribute{"strides", 1, 1},        WindowAttribute{"dilations", 1, 1},
    WindowAttribute{"pads", 2, INT64_MIN}, WindowAttribute{"output_padding", 1, 0},
};

// The number of spatial dimensions: the weight's, the operand's or the kernel's, whichever is known; 0 when none is.
std::size_t spatial_rank(const Graph& graph, const Node& node) {
  const bool has_weight = node.kind == OpKind::Conv || node.kind == OpKind::ConvTranspose;
  const std::size_t slot = has_weight ? 1 : 0;
  if (node.inputs.size() > slot && node.inputs[slot] != kNoValue) {
    const Value& operand = graph.values[std::size_t(node.inputs[slot])];
    if (operand.has_shape && operand.form == ValueForm::Tensor)
      return operand.dims.size() > 2 ? operand.dims.size() - 2 : 0;
  }
  return ints_attribute(node, "kernel_shape").size();
}

std::string check_window(const Graph& graph, const Node& node) {
  const std::size_t rank = spatial_rank(graph, node);
  if (rank == 0) return {};
  for (const WindowAttribute& attribute : kWindowAttributes) {
    const auto numbers = ints_attribute(node, attribute.name);
    if (numbers.empty()) continue;
    if (numbers.size() != rank * attribute.per_dimension) {
      return std::string(attribute.name) + " has " + std::to_string(numbers.size()) + " numbers; " +
             std::to_string(rank) + " spatial dimensions need " + std::to_string(rank * attribute.per_dimension);
    }
    for (const std::int64_t number : numbers) {
      if (number < attribute.least) return std::string(attribute.name) + " contains " + std::to_string(number);
    }
  }
  return {};
}

std::string check_convolution(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return "has no weight";
  const std::int64_t groups = int_attribute(node, "group", 1);
  if (groups < 1) return "group is " + std::to_string(groups);
  return check_window(graph, node);
}

std::string check_permutation(const Graph& graph, const Node& node) {
  const auto perm = ints_attribute(node, "perm");
  const auto rank = std::int64_t(perm.size());
  std::vector<bool> named(perm.size(), false);
  for (const std::int64_t axis : perm) {
    const std::int64_t place = axis < 0 ? axis + rank : axis;
    if (place < 0 || place >= rank || named[std::size_t(place)]) return "perm is not a permutation";
    named[std::size_t(place)] = true;
  }
  if (perm.empty() || node.inputs.empty() || node.inputs[0] == kNoValue) return {};
  const Value& operand = graph.values[std::size_t(node.inputs[0])];
  if (!operand.has_shape || operand.dims.size() == perm.size()) return {};
  return "perm has " + std::to_string(rank) + " axes, its operand " + std::to_string(operand.dims.size());
}

struct Rule {
  OpKind kind;
  std::string (*check)(const Graph&, const Node&);  // what is wrong; empty when nothing is
};
constexpr std::array kRules = {
    Rule{OpKind::Conv, check_convolution},      Rule{OpKind::ConvTranspose, check_convolution},
    Rule{OpKind::MaxPool, check_window},        Rule{OpKind::AveragePool, check_window},
    Rule{OpKind::LpPool, check_window},         Rule{OpKind::MaxUnpool, check_window},
    Rule{OpKind::Transpose, check_permutation},
};

}  // namespace

Status check_configuration(const Graph& graph) {
  if (graph.written_run && graph.origin.form != GraphForm::WrittenOut)
    return bad_input("only a graph that was written out from a configuration states its run");
  if (graph.written_run && graph.written_run->batch < 1) return bad_input("a graph states a batch below 1");
  if (!graph.transformer) return ok();
  const TransformerFacts& t = *graph.transformer;
  for (const std::int64_t size : {t.layers, t.heads, t.kv_heads, t.head_size, t.hidden_size, t.vocabulary,
                                  t.type_vocabulary, t.max_positions, t.experts}) {
    if (size < 0) return bad_input("a graph states a negative size of its transformer");
  }
  return ok();
}

Status check_values(const Graph& graph) {
  std::vector<bool> given(graph.values.size(), false);
  for (const Block& block : graph.blocks) {
    for (const ValueId id : block.inputs) given[std::size_t(id)] = true;
    for (const Node& node : block.nodes) {
      // Files may keep weights as nodes; every other stored value has no producer.
      if (node.kind == OpKind::Constant || node.kind == OpKind::ConstantOfShape) continue;
      for (const ValueId id : node.outputs) {
        if (id == kNoValue) continue;
        const Value& value = graph.values[std::size_t(id)];
        if (is_stored(value))
          return broken(value, "is stored and made by node " + node.op_type + " '" + node.name + "'");
      }
    }
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    const bool is_input = value.role == ValueRole::Input || value.role == ValueRole::Cache;
    if (is_input != given[i]) {
      return broken(value, is_input ? "has an input's role and is no input" : "is an input without an input's role");
    }
    FORERUN_CHECK(check_contents(value));
  }
  return ok();
}

void warn_of_attributes(Graph& graph) {
  std::size_t count = 0;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return r.kind == node.kind; });
      if (rule == kRules.end()) continue;
      const std::string what = rule->check(graph, node);
      if (what.empty() || ++count > kMaxWarnings) continue;
      graph.warnings.push_back(node.op_type + (node.name.empty() ? "" : " '" + node.name + "'") + ": " + what);
    }
  }
}

}  // namespace forerun
