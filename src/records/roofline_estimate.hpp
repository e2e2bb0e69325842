// The roofline's answer for a workload on a device: kernel times, memory, power. A record, because features are made
// from it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "records/workload.hpp"

namespace forerun {

enum class Bound : std::uint8_t { Compute, Memory, Launch, Host, Count };
[[nodiscard]] std::string_view name_of(Bound bound);

struct KernelTime {
  double time_us = 0;  // of all executions in one pass
  double compute_us = 0, memory_us = 0, launch_us = 0;
  Bound bound = Bound::Launch;
};

struct MemoryEstimate {
  double weights_mb = 0, activations_mb = 0, workspace_mb = 0, gradients_mb = 0, optimizer_mb = 0, cache_mb = 0;
  double saved_mb = 0;         // activations kept for the backward pass
  double total_mb = 0;         // peak of the framework's allocator
  double device_total_mb = 0;  // what the process occupies
};

struct RooflineEstimate {
  std::vector<KernelTime> kernels;  // parallel to the kernel list
  double device_ms = 0;             // sum of kernel times
  double host_ms = 0;               // time the host needs to dispatch them, eager
  double latency_eager_ms = 0, latency_graph_ms = 0;
  double compute_share = 0, memory_share = 0;  // of device time in which that unit is the limit
  MemoryEstimate memory;
  double power_eager_w = 0, power_graph_w = 0;
  [[nodiscard]] double latency_ms(Runtime runtime) const {
    return runtime == Runtime::Eager ? latency_eager_ms : latency_graph_ms;
  }
  [[nodiscard]] double power_w(Runtime runtime) const {
    return runtime == Runtime::Eager ? power_eager_w : power_graph_w;
  }
};

}  // namespace forerun
