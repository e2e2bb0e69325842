// One pass or step on several devices, from that on one device: communication is added, memory is divided.
#pragma once

#include <string>
#include <vector>

#include "devices/device.hpp"
#include "graph/graph.hpp"
#include "parallel/collectives.hpp"
#include "parallel/layout.hpp"
#include "records/estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

struct ParallelStep {
  Parallelism layout;
  std::int64_t batch = 1;       // of one copy
  std::int64_t parameters = 0;  // of the whole network
  Exchange exchange = Exchange::Nccl;
};

// Turns the estimates for one device's share into those for all devices: memory per device, power and energy of all
// devices. REQUIRES: check_layout()
void spread_over_devices(const Graph& graph, const Workload& workload, const ParallelStep& step, const Device& device,
                         Estimates& estimates, std::vector<std::string>& warnings);

}  // namespace forerun
