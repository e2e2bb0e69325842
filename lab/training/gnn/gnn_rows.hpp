// Measured examples as graph networks take them: networks, and operators timed alone as graphs of a few kernels.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"
#include "devices/catalogue.hpp"
#include "features/kernel_encoding.hpp"
#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {

// A metric that was not measured is 0. `eager_ms` is the step's time in training.
struct GnnTargets {
  double eager_ms = 0, graph_ms = 0, memory_mb = 0, power_w = 0, energy_j = 0, power_graph_w = 0, energy_graph_j = 0;
};

struct GnnRow {
  std::size_t example = 0;  // index into Dataset::examples; of the operator list when `alone`
  bool alone = false;       // an operator timed alone
  RunKind domain = RunKind::VisionInference;
  Workload workload;
  std::string device;
  KernelTensors kernels;
  CountedAs counted;
  float host_weight = 1;  // of its eager latency
  GnnTargets targets;
  GnnTargets roofline;
};

// Examples that cannot be analysed are counted, not fatal. All cores work. `trees` time their kernels;
// nullptr: the roofline does.
struct GnnRows {
  std::vector<GnnRow> rows;
  std::size_t skipped = 0;
};
[[nodiscard]] Result<GnnRows> make_gnn_rows(const Dataset& dataset, const Catalogue& catalogue,
                                            const TreePredictor* trees);
// Operators on devices that the catalogue does not have are left out.
[[nodiscard]] std::vector<GnnRow> make_operator_gnn_rows(const std::vector<OperatorExample>& operators,
                                                         const Catalogue& catalogue, const TreePredictor* trees);
// The kernels of an unlabelled graph run in this way.
[[nodiscard]] KernelTensors encode_unlabelled(const Graph& graph, const Workload& workload, const Device& device,
                                              const TreePredictor* trees);

}  // namespace forerun
