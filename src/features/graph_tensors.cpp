#include "features/graph_tensors.hpp"

#include <algorithm>

namespace forerun {

SparseRows make_sparse_rows(std::int32_t nodes, std::vector<Edge> edges) {
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return std::pair(a.second, a.first) < std::pair(b.second, b.first); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  SparseRows rows;
  rows.offsets.assign(static_cast<std::size_t>(nodes) + 1, 0);
  rows.columns.reserve(edges.size());
  for (const auto& [from, to] : edges) {
    ++rows.offsets[static_cast<std::size_t>(to) + 1];
    rows.columns.push_back(from);
  }
  for (std::size_t i = 1; i < rows.offsets.size(); ++i) rows.offsets[i] += rows.offsets[i - 1];
  return rows;
}

std::vector<Edge> chain_edges(std::int32_t nodes) {
  std::vector<Edge> edges;
  for (std::int32_t i = 1; i < nodes; ++i) edges.emplace_back(i - 1, i);
  return edges;
}

std::vector<Edge> both_ways(std::vector<Edge> edges) {
  const std::size_t count = edges.size();
  for (std::size_t i = 0; i < count; ++i) edges.emplace_back(edges[i].second, edges[i].first);
  return edges;
}

std::vector<Edge> flow_between_groups(const Graph& graph, std::span<const std::int32_t> group_of) {
  std::vector<std::vector<std::int32_t>> reaching(graph.values.size());  // groups whose output a value carries
  std::vector<Edge> edges;
  const std::vector<Node>& nodes = graph.main().nodes;
  std::vector<std::int32_t> sources;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    sources.clear();
    for (const ValueId input : nodes[i].inputs) {
      if (input == kNoValue) continue;
      const auto& more = reaching[static_cast<std::size_t>(input)];
      sources.insert(sources.end(), more.begin(), more.end());
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    if (sources.size() > kMaxFlowSources) sources.erase(sources.begin(), sources.end() - kMaxFlowSources);
    const std::int32_t group = group_of[i];
    if (group >= 0) {
      for (const std::int32_t source : sources) {
        if (source != group) edges.emplace_back(source, group);
      }
      sources.assign(1, group);
    }
    for (const ValueId output : nodes[i].outputs) {
      if (output != kNoValue) reaching[static_cast<std::size_t>(output)] = sources;
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

ActiveNodes list_active_nodes(const Graph& graph) {
  ActiveNodes active;
  const std::vector<Node>& nodes = graph.main().nodes;
  std::vector<std::int32_t> group_of(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool works = std::any_of(nodes[i].outputs.begin(), nodes[i].outputs.end(), [&graph](ValueId id) {
      return id != kNoValue && !graph.values[static_cast<std::size_t>(id)].is_constant;
    });
    if (!works || nodes[i].kind == OpKind::Constant) continue;
    group_of[i] = static_cast<std::int32_t>(active.nodes.size());
    active.nodes.push_back(static_cast<NodeId>(i));
  }
  active.edges = flow_between_groups(graph, group_of);
  return active;
}

}  // namespace forerun
