// Small questions about a graph that edits ask.
#pragma once

#include <vector>

#include "graph/graph.hpp"

namespace forerun {

struct Use {
  std::size_t node = 0, input = 0;
};

// Where the main block uses and produces values, and which of them leave it.
struct Places {
  explicit Places(const Graph& graph);
  [[nodiscard]] bool has_one_use(ValueId value) const {
    return uses[std::size_t(value)].size() == 1 && !leaves[std::size_t(value)];
  }
  // The node that produces a value; nullptr for inputs and stored values.
  [[nodiscard]] const Node* producer(const Graph& graph, ValueId value) const;

  std::vector<std::vector<Use>> uses;       // by value
  std::vector<std::ptrdiff_t> produced_by;  // by value: index of the node, -1: none
  std::vector<bool> leaves;                 // by value: an output of the network, or used by a body
};

ValueId add_value(Graph& graph, Value value);
// A stored list of integers.
ValueId add_integers(Graph& graph, std::string name, std::vector<std::int64_t> values);
// Erases the nodes of the main block that are marked.
void erase_nodes(Graph& graph, const std::vector<bool>& marked);
void set_attribute(Node& node, std::string_view name, AttributeValue value);

}  // namespace forerun
