// The interface of every predictor: what it covers, one answer, an explanation. The table of kinds and the policy that
// picks one are in predictors/predictor_set.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "base/cancel_token.hpp"
#include "base/result.hpp"
#include "devices/device.hpp"
#include "features/kernel_facts.hpp"
#include "graph/graph.hpp"
#include "predictors/reference_host.hpp"
#include "records/estimate.hpp"
#include "records/kernel_terms.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

// A workload on a device with everything computed for it. REQUIRES: kernels and roofline are those of this graph,
// workload and device.
struct PredictorInput {
  const Graph& graph;
  const Totals& totals;
  const std::vector<Kernel>& kernels;
  const Workload& workload;
  const Device& device;
  const RooflineEstimate& roofline;
  std::span<const KernelGroup> groups = {};      // group_kernels(kernels) when already computed
  std::span<const std::uint32_t> group_of = {};  // group of each kernel; without it answers hold no kernel times
  HostPart host = {};                            // of an eager pass
  CancelToken cancel = {};                       // once it has stopped, answers are incomplete or errors
};

struct Answer {
  Estimates estimates;                // metrics that the predictor does not estimate are absent
  std::vector<KernelTerms> kernels;   // parallel to the input's kernels; empty where not asked for
  std::vector<std::string> warnings;  // why an answer is less certain than usual
};

// One feature's part in an answer: the answer is base x product of all factors.
struct Contribution {
  std::string feature;
  double value = 0;   // the feature's number
  double factor = 1;  // factor by which it changed the answer
};
struct Explanation {
  double base = 0;                          // answer without any feature, in the metric's unit
  std::vector<Contribution> contributions;  // largest first
};

// A contribution to one metric, as reports show it.
struct FeatureEffect {
  Metric metric;
  Contribution contribution;
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::vector<Metric> metrics() const = 0;
  // Whether it can predict this input. If not, the error says why and which predictor to use instead.
  [[nodiscard]] virtual Status covers(const PredictorInput& input) const = 0;
  // REQUIRES: covers(input). Metrics that it does not predict are taken from the analytic predictor.
  [[nodiscard]] virtual Result<Answer> predict(const PredictorInput& input) const = 0;
  // The features that changed each metric most; empty for predictors without learned features.
  [[nodiscard]] virtual std::vector<FeatureEffect> explain(const PredictorInput&, const Answer&) const { return {}; }
};

}  // namespace forerun
