// How many instances of a serving engine a load needs to keep its limits of latency.
#pragma once

#include <cstdint>
#include <string>

#include "serving/summary.hpp"

namespace forerun {

struct SizedDeployment {
  Deployment deployment;  // with the numbers of instances
  SimulationResult result;
  std::string problem;  // not empty: no number of instances does
};

// REQUIRES: `deployment` as for one instance (a pipeline's stages counted), load.requests_per_s. `most`: instances.
[[nodiscard]] SizedDeployment size_instances(const Deployment& deployment, const Load& load,
                                             const LatencyLimits& limits, std::int64_t most);
// The same for instances of prompts and of decode steps; `most` of both together.
[[nodiscard]] SizedDeployment size_disaggregated(const Deployment& deployment, const Load& load,
                                                 const LatencyLimits& limits, std::int64_t most);

}  // namespace forerun
