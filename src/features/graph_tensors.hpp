// A graph as a graph network takes it: a matrix of node features and the edges in compressed sparse rows.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace forerun {

using Edge = std::pair<std::int32_t, std::int32_t>;  // from, to

// Row d lists the sources of the edges that end in node d, in ascending order, each once.
struct SparseRows {
  std::vector<std::int32_t> offsets;  // rows + 1
  std::vector<std::int32_t> columns;

  [[nodiscard]] std::int32_t rows() const { return static_cast<std::int32_t>(offsets.size()) - 1; }
  [[nodiscard]] std::span<const std::int32_t> row(std::int32_t index) const {
    const auto from = static_cast<std::size_t>(offsets[static_cast<std::size_t>(index)]);
    const auto to = static_cast<std::size_t>(offsets[static_cast<std::size_t>(index) + 1]);
    return std::span(columns).subspan(from, to - from);
  }
};

struct GraphTensors {
  std::int32_t nodes = 0;
  std::int32_t node_width = 0;
  std::vector<float> node_features;  // nodes x node_width, row after row
  SparseRows sources;
  std::vector<float> globals;  // one row for the whole graph
};

enum class EdgeKind : std::uint8_t {
  Chain,     // each node to the next one, as the published inference predictor joined them
  DataFlow,  // producer to consumer
};

// REQUIRES: 0 <= from, to < nodes. Repeated edges count once.
[[nodiscard]] SparseRows make_sparse_rows(std::int32_t nodes, std::vector<Edge> edges);
[[nodiscard]] std::vector<Edge> chain_edges(std::int32_t nodes);
// Every edge in both directions.
[[nodiscard]] std::vector<Edge> both_ways(std::vector<Edge> edges);

// The nodes of the main block that do work on activations (constants and what follows from them alone are left out),
// in execution order, and the data flow between them; flow through nodes that are left out is not lost.
struct ActiveNodes {
  std::vector<NodeId> nodes;
  std::vector<Edge> edges;  // indices into `nodes`
};
[[nodiscard]] ActiveNodes list_active_nodes(const Graph& graph);

// For every node of the main block, the groups whose output reaches it: `group_of[node]` is a group's index, or -1 for
// a node that only passes its inputs on. At most kMaxFlowSources per node, the nearest ones kept.
inline constexpr std::size_t kMaxFlowSources = 16;
[[nodiscard]] std::vector<Edge> flow_between_groups(const Graph& graph, std::span<const std::int32_t> group_of);

}  // namespace forerun
