// Sums over a costed graph, as the report of `forerun inspect` shows them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace forerun {

struct OperatorTotals {
  std::int64_t count = 0;  // nodes, not executions
  std::int64_t macs = 0, flops = 0, parameters = 0, bytes_moved = 0;
};

struct Totals {
  std::int64_t nodes = 0;  // bodies of control flow included
  std::int64_t edges = 0;  // producer to consumer, once per pair and value
  std::int64_t parameters = 0, weight_bytes = 0;
  std::int64_t macs = 0, flops = 0, bytes_moved = 0, activation_peak_bytes = 0;
  std::map<std::string, OperatorTotals> operators;  // by the file's name of the operator
  double coverage = 1.0;                            // share of nodes whose cost is known
  std::vector<std::string> unknown_operators;
};

// REQUIRES: count_costs
[[nodiscard]] Totals sum_totals(const Graph& graph);

}  // namespace forerun
