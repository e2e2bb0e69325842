// Joins the graphs of a pipeline's networks into one.
#pragma once

#include <map>
#include <string>

#include "graph/graph.hpp"

namespace forerun::diffusers {

using NamedValues = std::map<std::string, ValueId, std::less<>>;

// Appends `part`: the nodes of its main block go to the end of `block` of `to`. Its inputs that `given` names are those
// values of `to`, the others become inputs of `to` called PREFIX.NAME. Returns its outputs by name.
// REQUIRES: `part` has one block.
NamedValues append_graph(Graph& to, Graph part, std::int32_t block, const NamedValues& given,
                         const std::string& prefix);

}  // namespace forerun::diffusers
