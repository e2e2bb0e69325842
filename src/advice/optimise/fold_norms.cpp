// Batch normalisations after convolutions become part of their weights and biases.
#include "advice/optimise/graph_edits.hpp"
#include "advice/optimise/places.hpp"

namespace forerun {

std::size_t fold_norms(Graph& graph) {
  std::size_t places = 0;
  // The exporter folded these norms, and answers count them as PyTorch would still run them: no longer.
  for (Value& value : graph.values) {
    places += value.has_folded_norm ? 1 : 0;
    value.has_folded_norm = false;
  }
  const Places where(graph);
  std::vector<Node>& nodes = graph.main().nodes;
  std::vector<bool> folded(nodes.size(), false);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& norm = nodes[n];
    constexpr std::size_t kNormInputs = 5;  // x, scale, shift, mean, variance
    if (norm.kind != OpKind::BatchNormalization || norm.inputs.size() < kNormInputs || norm.outputs.size() != 1)
      continue;
    const std::ptrdiff_t producer = where.produced_by[std::size_t(norm.inputs[0])];
    if (producer < 0 || !where.has_one_use(norm.inputs[0])) continue;
    Node& conv = nodes[std::size_t(producer)];
    if (conv.kind != OpKind::Conv && conv.kind != OpKind::ConvTranspose) continue;
    conv.outputs[0] = norm.outputs[0];
    conv.inputs.resize(3, kNoValue);
    if (conv.inputs[2] == kNoValue) conv.inputs[2] = norm.inputs[2];
    folded[n] = true;
    ++places;
  }
  erase_nodes(graph, folded);
  return places;
}

}  // namespace forerun
