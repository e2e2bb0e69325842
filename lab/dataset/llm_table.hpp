// The tabular feature set for language models: 14 facts about the network and how it is run, 20 about the device.
// Columns have names and units and a stable order; a figure that is not known is NaN, which trees take as missing.
#pragma once

#include <vector>

#include "analysis/totals.hpp"
#include "devices/device.hpp"
#include "features/table.hpp"
#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

inline constexpr std::size_t kLlmNetworkColumns = 14;
inline constexpr std::size_t kLlmDeviceColumns = 20;

[[nodiscard]] const TableSchema& llm_table_schema();

// One value per column. REQUIRES: `totals` belong to `graph`, which was expanded for `binding`.
[[nodiscard]] std::vector<float> extract_llm_table(const Graph& graph, const Totals& totals, const Binding& binding,
                                                   const Device& device);

}  // namespace forerun
