// What an operator's name, attributes and inputs say of a NodeDef.
#pragma once

#include <optional>
#include <string_view>

#include "readers/tensorflow/graph_def.hpp"

namespace forerun::tensorflow {

struct Reference {
  std::string_view node;
  std::string_view output;  // of a function's node, by name
  std::size_t index = 0;
};

// nullopt for "^name", which is an order only; "name", "name:1" (graphs) or "name:output:1" (functions).
[[nodiscard]] std::optional<Reference> read_reference(std::string_view text);
// Which result of the node a reference means.
[[nodiscard]] std::size_t output_index(const NodeDef& node, const Reference& reference);

[[nodiscard]] const AttributeDef* find_attribute(const NodeDef& node, std::string_view name);
// Element type of the first result where an attribute names it.
[[nodiscard]] DType result_type(const NodeDef& node);
[[nodiscard]] bool is_variable(const NodeDef& node);
[[nodiscard]] bool is_placeholder(const NodeDef& node);
// Ends a graph without being a result of the network.
[[nodiscard]] bool is_no_result(const NodeDef& node);

}  // namespace forerun::tensorflow
