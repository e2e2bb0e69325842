// Measured networks and operators as the roofline's fit and its report read them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"
#include "dataset/operators.hpp"
#include "devices/catalogue.hpp"

namespace forerun {

struct NetworkRow {
  std::shared_ptr<const Graph> graph;
  std::vector<Kernel> kernels;
  Workload workload;
  const Device* device = nullptr;
  RunKind domain{};
  std::string family, id;
  double graph_ms = 0, eager_ms = 0, step_ms = 0, power_w = 0, memory_mb = 0, device_memory_mb = 0,
         energy_j = 0;  // 0: not measured
  double weight = 1;    // every network weighs the same
};

struct OperatorRow {
  std::vector<Kernel> kernels;
  const Device* device = nullptr;
  double latency_us = 0, timing_us = 0;  // timing_us: what the way of timing adds
  double weight = 1;                     // every class of every device weighs the same
  std::string op, source;
  Precision precision{};
};

struct MeasuredRows {
  std::map<std::string, Device> devices;  // rows point into it
  std::vector<NetworkRow> networks;
  std::vector<OperatorRow> operators;
};

struct MeasuredOptions {
  std::string campaigns = "data/measurements";
  std::string public_data;        // empty: none
  std::size_t public_rows = 400;  // of one table and device
};
Result<MeasuredRows> load_measured_rows(const MeasuredOptions& options, const Catalogue& catalogue);

// Adds the examples; operators on devices that the catalogue does not have are left out.
Status add_operators(MeasuredRows& rows, std::vector<OperatorExample> examples, const Catalogue& catalogue);

}  // namespace forerun
