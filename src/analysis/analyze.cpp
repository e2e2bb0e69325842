#include "analysis/analyze.hpp"

#include <algorithm>
#include <vector>

namespace forerun {

Result<Graph> analyze(const Network& network, const Binding& binding) {
  FORERUN_TRY(Graph graph, network.expand(binding));
  FORERUN_CHECK(bind_dimensions(graph, binding));
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
