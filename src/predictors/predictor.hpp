// The interface of every predictor: what it covers, one answer, an explanation. The table of kinds and the policy that
// picks one are in predictors/predictor_set.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "base/result.hpp"
#include "devices/device.hpp"
#include "features/kernel_facts.hpp"
#include "graph/graph.hpp"
#include "records/estimate.hpp"
#include "records/kernel_terms.hpp"
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
  std::span<const KernelGroup> groups = {};      // group_kernels(kernels), where it is there already
  std::span<const std::uint32_t> group_of = {};  // of each kernel its group; without it answers hold no kernels
};

struct Answer {
  Estimates estimates;                // what the predictor cannot say is absent
  std::vector<KernelTerms> kernels;   // parallel to the input's kernels; empty where not asked for
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
  // Whether it answers for such inputs. When not, the error says why and what to take instead.
  [[nodiscard]] virtual Status covers(const PredictorInput& input) const = 0;
  // REQUIRES: covers(input). Metrics it has no answer of its own for are the analytic ones.
  [[nodiscard]] virtual Result<Answer> predict(const PredictorInput& input) const = 0;
  // The features that moved each metric of this answer most. Empty where no learned features did.
  [[nodiscard]] virtual std::vector<FeatureEffect> explain(const PredictorInput&, const Answer&) const { return {}; }
};

}  // namespace forerun
