#include "analysis/analyze.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/infer_shapes.hpp"
#include "analysis/rebind_batch.hpp"

namespace forerun {

namespace {

bool has_free_input(const Graph& graph) {
  return std::any_of(graph.main().inputs.begin(), graph.main().inputs.end(), [&graph](ValueId id) {
    const Value& value = graph.values[std::size_t(id)];
    return value.has_shape && std::find(value.dims.begin(), value.dims.end(), kUnknownDim) != value.dims.end();
  });
}

// The graph with every free dimension bound. Some networks can be written out only then: their inputs are bound
// first. `was_free`: the file's graph had free dimensions, and its nodes may hold numbers of another batch.
Result<Graph> expand_bound(const Network& network, const Binding& binding, bool& was_free, const CancelToken& cancel) {
  if (network.open_inputs() == nullptr) {
    FORERUN_TRY(Graph graph, network.expand(binding, cancel));
    was_free = network.is_fixed_graph() && has_free_input(graph);
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
  FORERUN_TRY(Graph graph, network.expand(bound, cancel));
  graph.warnings.insert(graph.warnings.begin(), inputs.warnings.begin(), inputs.warnings.end());
  return graph;
}

double macs_of(Graph graph) {
  double sum = 0;
  if (!count_costs(graph)) return sum;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) sum += double(node.cost.macs) * double(block.runs);
  }
  return sum;
}

// Shapes of a graph with a batch. Where they do not fit, but would without the batch, its nodes are re-bound; a
// mismatch in nodes with less than 1 % of the work stays a warning.
Result<Graph> infer_batch(const Network& network, const Binding& binding, Graph graph, const CancelToken& cancel) {
  bool fits = true;
  Graph inferred = graph;
  const InferenceHooks hooks{
      .before = {}, .after = {}, .failed = [&fits](const Node&, const std::string&) { fits = false; }};
  FORERUN_CHECK(infer_shapes(inferred, hooks, cancel));
  if (fits) return inferred;
  Binding one = binding;
  one.batch = 1;
  FORERUN_TRY(Graph single, network.expand(one, cancel));
  FORERUN_CHECK(bind_dimensions(single, one));
  Graph rebound = single;
  if (const Status status = follow_batch(rebound, graph, *binding.batch); !status) {
    FORERUN_CHECK(infer_shapes(single, cancel));
    const double wanted = macs_of(std::move(single)) * double(*binding.batch);
    if (wanted == 0 || std::abs(macs_of(inferred) / wanted - 1) > 0.01) return status.error();
    return inferred;
  }
  FORERUN_CHECK(infer_shapes(rebound, cancel));
  return rebound;
}

}  // namespace

Result<Graph> analyze(const Network& network, const Binding& binding, const CancelToken& cancel) {
  bool was_free = false;
  FORERUN_TRY(Graph graph, expand_bound(network, binding, was_free, cancel));
  if (was_free && binding.batch && *binding.batch > 1) {
    FORERUN_TRY(graph, infer_batch(network, binding, std::move(graph), cancel));
  } else {
    FORERUN_CHECK(infer_shapes(graph, cancel));
  }
  FORERUN_CHECK(count_costs(graph, cancel));
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
