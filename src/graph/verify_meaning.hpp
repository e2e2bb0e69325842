// What verify() checks of a graph's meaning (docs/ir.md), beyond its structure.
#pragma once

#include "graph/graph.hpp"

namespace forerun {

// Errors: a reader broke the rules of roles, dimensions or contents. Nothing in a file leads to them.
Status check_values(const Graph& graph);
Status check_configuration(const Graph& graph);

// Attributes that contradict themselves or the operands: a file may state them, so they are warnings, some at most.
void warn_of_attributes(Graph& graph);

}  // namespace forerun
