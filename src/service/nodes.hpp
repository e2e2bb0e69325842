// One row per node of a network: what `inspect --nodes` shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "service/report.hpp"

namespace forerun {

struct NodeRow {
  std::string name, op_type;
  std::vector<TensorInfo> inputs, outputs;  // operands that are left out are left out
  std::vector<Attribute> attributes;
  bool cost_known = false;
  std::int64_t macs = 0, flops = 0, bytes_moved = 0;  // of all runs of a body in one pass; meaningful with cost_known
  std::int64_t parameters = 0;
};

struct NodesReport {
  std::string name, format;
  std::vector<NodeRow> nodes;
  std::vector<std::string> warnings;
};

// In execution order, the network's nodes first, then those of bodies.
[[nodiscard]] std::vector<NodeRow> describe_nodes(const Graph& graph);

[[nodiscard]] std::string to_json(const NodesReport& report);
[[nodiscard]] std::string to_csv(const NodesReport& report);  // lists joined by ';', sizes of a shape by 'x'

}  // namespace forerun
