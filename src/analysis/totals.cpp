#include "analysis/totals.hpp"

#include <algorithm>
#include <set>

#include "analysis/analyze.hpp"
#include "base/checked.hpp"

namespace forerun {

Totals sum_totals(const Graph& graph) {
  Totals totals;
  std::set<std::string> unknown;
  std::vector<bool> produced(graph.values.size(), false);
  std::vector<bool> weighed(graph.values.size(), false);
  std::int64_t known = 0;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != kNoValue) produced[std::size_t(id)] = true;
      }
    }
  }
  const auto weigh = [&](ValueId id) {
    if (id == kNoValue || weighed[std::size_t(id)] || !is_weight(graph.values[std::size_t(id)])) return;
    weighed[std::size_t(id)] = true;
    totals.weight_bytes = checked_add(totals.weight_bytes, bytes_of(graph.values[std::size_t(id)]));
  };
  for (const Block& block : graph.blocks) {
    totals.nodes += std::int64_t(block.nodes.size());
    for (const ValueId id : block.outputs) {
      if (&block != &graph.main()) weigh(id);
    }
    for (const Node& node : block.nodes) {
      const OpCost& cost = node.cost;
      OperatorTotals& row = totals.operators[node.op_type];
      ++row.count;
      row.macs = checked_add(row.macs, checked_mul(cost.macs, block.runs));
      row.flops = checked_add(row.flops, checked_mul(cost.flops, block.runs));
      row.parameters = checked_add(row.parameters, cost.parameters);
      row.bytes_moved = checked_add(row.bytes_moved, checked_mul(cost.bytes_read + cost.bytes_written, block.runs));
      known += cost.known ? 1 : 0;
      if (node.kind == OpKind::Unknown) unknown.insert((node.domain.empty() ? "" : node.domain + "::") + node.op_type);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId id = node.inputs[i];
        if (id == kNoValue) continue;
        const bool repeated = std::find(node.inputs.begin(), node.inputs.begin() + std::ptrdiff_t(i), id) !=
                              node.inputs.begin() + std::ptrdiff_t(i);
        if (produced[std::size_t(id)] && !repeated) ++totals.edges;
        if (node.kind == OpKind::BatchNormalization && (i == 3 || i == 4)) continue;
        weigh(id);
      }
    }
  }
  for (const auto& [name, row] : totals.operators) {
    totals.macs = checked_add(totals.macs, row.macs);
    totals.flops = checked_add(totals.flops, row.flops);
    totals.parameters = checked_add(totals.parameters, row.parameters);
    totals.bytes_moved = checked_add(totals.bytes_moved, row.bytes_moved);
  }
  totals.activation_peak_bytes = count_peak_activations(graph);
  totals.coverage = totals.nodes == 0 ? 1.0 : double(known) / double(totals.nodes);
  totals.unknown_operators.assign(unknown.begin(), unknown.end());
  return totals;
}

}  // namespace forerun
