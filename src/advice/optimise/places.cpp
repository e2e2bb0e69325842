#include "advice/optimise/places.hpp"

#include <algorithm>

namespace forerun {

Places::Places(const Graph& graph)
    : uses(graph.values.size()), produced_by(graph.values.size(), -1), leaves(graph.values.size(), false) {
  const std::vector<Node>& nodes = graph.main().nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (std::size_t i = 0; i < nodes[n].inputs.size(); ++i) {
      if (nodes[n].inputs[i] != kNoValue) uses[std::size_t(nodes[n].inputs[i])].push_back({n, i});
    }
    for (const ValueId output : nodes[n].outputs) {
      if (output != kNoValue) produced_by[std::size_t(output)] = std::ptrdiff_t(n);
    }
  }
  const auto leave = [this](const std::vector<ValueId>& values) {
    for (const ValueId value : values) {
      if (value != kNoValue) leaves[std::size_t(value)] = true;
    }
  };
  leave(graph.main().outputs);
  for (std::size_t b = 1; b < graph.blocks.size(); ++b) {
    leave(graph.blocks[b].outputs);
    for (const Node& node : graph.blocks[b].nodes) leave(node.inputs);
  }
}

const Node* Places::producer(const Graph& graph, ValueId value) const {
  const std::ptrdiff_t node = produced_by[std::size_t(value)];
  return node < 0 ? nullptr : &graph.main().nodes[std::size_t(node)];
}

ValueId add_value(Graph& graph, Value value) {
  graph.values.push_back(std::move(value));
  return ValueId(graph.values.size() - 1);
}

ValueId add_integers(Graph& graph, std::string name, std::vector<std::int64_t> values) {
  Value value;
  value.name = std::move(name);
  value.dtype = DType::Int64;
  value.role = ValueRole::Constant;
  value.has_shape = true;
  value.dims = {std::int64_t(values.size())};
  value.literal = Literal{std::move(values), {}};
  return add_value(graph, std::move(value));
}

void erase_nodes(Graph& graph, const std::vector<bool>& marked) {
  std::vector<Node> kept;
  std::vector<Node>& nodes = graph.main().nodes;
  kept.reserve(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (n >= marked.size() || !marked[n]) kept.push_back(std::move(nodes[n]));
  }
  nodes = std::move(kept);
}

void set_attribute(Node& node, std::string_view name, AttributeValue value) {
  const auto found = std::find_if(node.attributes.begin(), node.attributes.end(),
                                  [&](const Attribute& attribute) { return attribute.name == name; });
  if (found != node.attributes.end()) {
    found->value = std::move(value);
  } else {
    node.attributes.push_back({std::string(name), std::move(value)});
  }
}

}  // namespace forerun
