// A workload on a device as one row of numbers, for tree predictors. Columns have names and units, a stable order, a
// version and a hash; a bundle made with another hash is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "devices/device.hpp"
#include "graph/graph.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

struct FeatureColumn {
  std::string name;
  std::string unit;
  int monotone = 0;  // +1: a larger value never means less time (trees are constrained); 0: free
};

struct TableSchema {
  std::string name;
  int version = 1;
  std::vector<FeatureColumn> columns;
  std::uint64_t hash = 0;  // of name, version, column names and units
};

[[nodiscard]] const TableSchema& table_schema();

// One value per column. REQUIRES: `kernels` and `roofline` belong to this graph, workload and device.
[[nodiscard]] std::vector<float> extract_table(const Graph& graph, const Totals& totals,
                                               const std::vector<Kernel>& kernels, const Workload& workload,
                                               const Device& device, const RooflineEstimate& roofline);

}  // namespace forerun
