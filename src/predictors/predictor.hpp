// What every learned predictor is asked and answers. Estimates and their names: records/estimate.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "devices/device.hpp"
#include "features/kernel_facts.hpp"
#include "graph/graph.hpp"
#include "records/estimate.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

// A workload on a device with all that was computed for it. REQUIRES: kernels and roofline belong to the others.
struct PredictorInput {
  const Graph& graph;
  const Totals& totals;
  const std::vector<Kernel>& kernels;
  const Workload& workload;
  const Device& device;
  const RooflineEstimate& roofline;
  std::span<const KernelGroup> groups = {};  // group_kernels(kernels), where it is there already
};

struct Prediction {
  Estimates estimates;                // report keys; what the predictor cannot say is absent
  std::vector<std::string> warnings;  // why an answer is less certain than usual
};

// One feature's part in an answer: the answer is base x product of all factors.
struct Contribution {
  std::string feature;
  double value = 0;   // the feature's number
  double factor = 1;  // what it multiplied the answer by
};
struct Explanation {
  double base = 0;                          // answer before any feature spoke, in the metric's unit
  std::vector<Contribution> contributions;  // largest first
};

}  // namespace forerun
