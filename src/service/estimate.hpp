// One workload on one device: estimates, advice, breakdown. What a report says of a device is made here.
#pragma once

#include "advice/carbon.hpp"
#include "base/result.hpp"
#include "service/learned.hpp"
#include "service/report.hpp"
#include "service/request.hpp"
#include "service/target.hpp"
#include "service/workspace.hpp"

namespace forerun {

class Estimator {
 public:
  // Both must outlive it.
  Estimator(Workspace& workspace, const LearnedPredictors& learned) : workspace_(workspace), learned_(learned) {}

  Result<DeviceResult> estimate(const Plan& plan, const Request& request, const Grid& grid, const Target& target) const;

 private:
  struct Pass {
    Estimates estimates;
    RooflineEstimate roofline;
    std::vector<FeatureEffect> effects;
  };
  Result<Pass> estimate_pass(const Plan& plan, const Request& request, const Device& device,
                             std::vector<std::string>& warnings) const;

  Workspace& workspace_;
  const LearnedPredictors& learned_;
};

[[nodiscard]] std::int64_t batch_of(const Plan& plan);
[[nodiscard]] WorkloadInfo describe_workload(const Plan& plan, const Request& request);

// The request with its devices shared out: --gpus alone means tensor parallelism; copies divide the batch.
Result<Request> share_out(const Request& request, const Network& network);

// MIG, price, carbon and totals. REQUIRES: latency, energy and memory are estimated. `roofline`: of the whole device.
Status advise(const Plan& plan, const Request& request, const Grid& grid, const Target& target,
              const RooflineEstimate& roofline, double batch, DeviceResult& result);

// The kernels' times, equal ones joined, dearest first. `scale`: the answer against the roofline's.
[[nodiscard]] std::vector<BreakdownRow> break_down(const Plan& plan, const RooflineEstimate& roofline, double scale);

// Adds the exchange between several devices and divides what each holds.
Status spread_over_devices(const Plan& plan, const Request& request, const Device& device, Estimates& estimates,
                           std::vector<std::string>& warnings);

// An integer that the reader noted in the graph ("layers", "run_batch").
[[nodiscard]] std::optional<std::int64_t> graph_fact(const Graph& graph, std::string_view name);

// One device against its ceilings, kernel by kernel.
[[nodiscard]] RooflineReport report_roofline(const Plan& plan, const Request& request, const Device& device);

}  // namespace forerun
