// One question about one device: runs the stages in order and collects their answers and warnings.
#pragma once

#include "advice/carbon.hpp"
#include "base/result.hpp"
#include "parallel/layout.hpp"
#include "predictors/predictor_set.hpp"
#include "service/plan_layouts.hpp"
#include "service/report.hpp"
#include "service/request.hpp"
#include "service/serving_question.hpp"
#include "service/target.hpp"
#include "service/workspace.hpp"

namespace forerun {

class Estimator {
 public:
  // Both must outlive it.
  // `measured`: a device whose networks were measured; the host's part of eager passes is learned from it.
  Estimator(Workspace& workspace, const PredictorSet& predictors, const Device* measured)
      : workspace_(workspace), predictors_(predictors), measured_(measured) {}

  // Layouts on the devices that the request names.
  Result<LayoutReport> plan_layouts(const Request& request, const Network& network, const Target& target) const;
  // `serving`: of the request, when it asks for serving.
  Result<DeviceResult> estimate(const Plan& plan, const Request& request, const Grid& grid, const Target& target,
                                const ServingQuestion* serving = nullptr) const;
  // The pass alone under the request's runtime: no advice, no breakdown.
  Result<RuntimeAnswer> estimate_runtime(const Plan& plan, const Request& request, const Target& target) const;

 private:
  struct Pass {
    Answer answer;
    RooflineEstimate roofline;
    std::vector<FeatureEffect> effects;
    // Several devices: the busiest rank's plan, which answer, roofline and effects are of.
    std::shared_ptr<const Plan> plan;
    std::optional<ParallelReport> parallel;
    Estimate memory, device_memory;  // of the rank that needs most
  };
  // One pass of the plan on the device, or on several of them: times, memory, energy.
  Result<Pass> estimate_pass(const Plan& plan, const Request& request, const Device& device, bool explain) const;
  // A slice's latency is at least that of every larger slice of its card, whichever predictors answer for them.
  void raise_to_larger_slices(const Plan& plan, const Request& request, const Target& target, Pass& pass) const;
  // An eager pass that the host decides takes at least as long as one sample's: the host dispatches the same kernels.
  void raise_to_one_sample(const Plan& plan, const Request& request, const Device& device, Pass& pass) const;
  Result<Pass> predict_plan(const Plan& plan, const Request& request, const Device& device, bool explain) const;
  // A compiled pass: the replay's answer and what compiling changes. REQUIRES: `plan` holds the compiled kernels
  Result<Pass> predict_compiled(const Plan& plan, const Request& request, const Device& device) const;
  // The host's part of an eager pass on this device. REQUIRES: `input` is complete but for it
  Result<HostPart> host_of(const Plan& plan, const Request& request, const PredictorInput& input,
                           std::string_view predictor) const;
  // REQUIRES: request.parallel.cluster
  Result<Pass> estimate_ranks(const Request& request, const Device& device, bool explain) const;
  // Device memory of a pass of other sizes.
  Result<double> memory_of_other_mb(const Request& request, const Binding& binding, const Device& device) const;
  Status add_capacity(const Request& request, const Device& device, DeviceResult& result) const;
  Status add_advice(const Plan& plan, const Request& request, const Grid& grid, const Target& target, const Pass& pass,
                    double batch, DeviceResult& result) const;

  Workspace& workspace_;
  const PredictorSet& predictors_;
  const Device* measured_;
};

// Refuses what torch.compile does not run, or what is not estimated of it.
Status check_compiled(const Plan& plan, const Request& request);

[[nodiscard]] std::int64_t batch_of(const Plan& plan);
[[nodiscard]] WorkloadInfo describe_workload(const Plan& plan, const Request& request);

// The devices a request names, and what of the network can be divided between them (0: nothing).
struct PlaceOfRequest {
  Cluster cluster;
  std::int64_t devices = 1, heads = 0, layers = 0, experts = 0;
};
Result<PlaceOfRequest> place_request(const Request& request, const Network& network, const Device& device);

// The request with its devices shared out: --gpus alone means tensor parallelism inside a link domain and copies
// beyond; copies and micro-batches divide the batch.
Result<Request> share_out(const Request& request, const Network& network, const Device& device);

inline constexpr std::size_t kBreakdownRows = 40;

// The kernels' times by cause, those of one name joined, the largest first; rows beyond `most` become one.
// `device`: whose bytes by level are counted; nullptr: nothing is known of its caches.
[[nodiscard]] std::vector<BreakdownRow> break_down(const Plan& plan, std::span<const KernelTerms> kernels,
                                                   std::size_t most, const Device* device);
// The busiest rank's, over all micro-batches, with the time in which it runs no kernel. They add up to the step.
[[nodiscard]] std::vector<BreakdownRow> break_down(const Plan& plan, std::span<const KernelTerms> kernels,
                                                   const ParallelReport& report, const Device* device);

// One device against its ceilings, kernel by kernel.
[[nodiscard]] RooflineReport report_roofline(const Plan& plan, const Request& request, const Device& device);
// The same of one operator, for every combination of the sizes that the request sweeps.
[[nodiscard]] Result<RooflineReport> report_operator(const Request& request, const Device& device);

// Refuses lengths of a run that contradict each other or the question.
Status check_run(const Request& request);

// The share of the pass in which the device waits for its host.
[[nodiscard]] double host_share(const Answer& answer);

}  // namespace forerun
