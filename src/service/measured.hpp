// Looks up a measurement of exactly this workload on this device.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "devices/device.hpp"
#include "graph/graph.hpp"
#include "records/metric.hpp"
#include "records/workload.hpp"

namespace forerun {

// By the report's metric names; empty when the store holds none. `url`: as open_store() takes it.
Result<std::map<Metric, double>> find_measured(const std::string& url, const Graph& graph, const Workload& workload,
                                               const Device& device);

}  // namespace forerun
