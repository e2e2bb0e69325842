#include "analysis/analyze.hpp"

#include <algorithm>
#include <vector>

namespace forerun {

namespace {

// The graph with every free dimension a number. Some networks can be written out only then: their inputs are bound
// first.
Result<Graph> expand_bound(const Network& network, const Binding& binding) {
  if (network.open_inputs() == nullptr) {
    FORERUN_TRY(Graph graph, network.expand(binding));
    FORERUN_CHECK(bind_dimensions(graph, binding));
    return graph;
  }
  Graph inputs = *network.open_inputs();
  FORERUN_CHECK(bind_dimensions(inputs, binding));
  Binding bound = binding;
  for (std::size_t i = 0; i < inputs.values.size(); ++i) {
    const Value& value = inputs.values[i];
    if (value.has_shape) bound.inputs[value.name] = value.dims;
    for (std::size_t d = 0; d < value.dims.size() && d < value.dim_names.size(); ++d) {
      if (!value.dim_names[d].empty() && value.dims[d] >= 0) bound.dims[value.dim_names[d]] = value.dims[d];
    }
  }
  FORERUN_TRY(Graph graph, network.expand(bound));
  graph.warnings.insert(graph.warnings.begin(), inputs.warnings.begin(), inputs.warnings.end());
  return graph;
}

}  // namespace

Result<Graph> analyze(const Network& network, const Binding& binding) {
  FORERUN_TRY(Graph graph, expand_bound(network, binding));
  FORERUN_CHECK(infer_shapes(graph));
  FORERUN_CHECK(count_costs(graph));
  mark_needed(graph);
  return graph;
}

void mark_needed(Graph& graph) {
  Block& block = graph.main();
  if (block.outputs.empty()) return;
  std::vector<bool> value(graph.values.size(), false);
  const auto need = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kNoValue) value[std::size_t(id)] = true;
    }
  };
  need(block.outputs);
  for (std::size_t b = 1; b < graph.blocks.size(); ++b) {  // bodies use values of the main block directly
    need(graph.blocks[b].outputs);
    for (const Node& one : graph.blocks[b].nodes) need(one.inputs);
  }
  for (std::size_t i = block.nodes.size(); i-- > 0;) {
    Node& one = block.nodes[i];
    one.needed = std::any_of(one.outputs.begin(), one.outputs.end(),
                             [&](ValueId id) { return id != kNoValue && value[std::size_t(id)]; });
    if (one.needed) need(one.inputs);
  }
}

}  // namespace forerun
