#include "predictors/roofline/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.hpp"
#include "predictors/roofline/kernel_time.hpp"

namespace forerun {
std::optional<std::string> precision_problem(const Device& device, Precision precision) {
  const auto has = [&](const char* key) { return device.peak_tflops.contains(key); };
  const std::string name(name_of(precision));
  switch (precision) {
    case Precision::Fp16:
    case Precision::AmpFp16:
      if (!has("fp16_tensor") && !has("fp16")) return device.id + " has no fp16 arithmetic: estimated at its fp32 rate";
      break;
    case Precision::Bf16:
    case Precision::AmpBf16:
      if (!has("bf16_tensor") && !has("bf16")) return device.id + " has no bf16 arithmetic: estimated at its fp32 rate";
      break;
    case Precision::Tf32:
      if (!has("tf32_tensor")) return device.id + " has no tf32 units: estimated at its fp32 rate";
      break;
    default: break;
  }
  return std::nullopt;
}

RooflineEstimate estimate_roofline(const Graph& graph, const std::vector<Kernel>& kernels, const Workload& workload,
                                   const Device& device, const RooflineConstants& constants) {
  return estimate_roofline(kernels, count_memory(graph, kernels, workload), workload, device, constants);
}

RooflineEstimate sum_up(double device_us, double compute_us, double memory_us, double host_us, const Device& device,
                        const RooflineConstants& constants) {
  RooflineEstimate estimate;
  estimate.device_ms = device_us / 1e3;
  estimate.host_ms = host_us / 1e3;
  estimate.compute_share = device_us > 0 ? compute_us / device_us : 0;
  estimate.memory_share = device_us > 0 ? memory_us / device_us : 0;
  estimate.latency_graph_ms = estimate.device_ms;
  const double p = constants.overlap_power;
  estimate.latency_eager_ms = std::pow(std::pow(estimate.device_ms, p) + std::pow(estimate.host_ms, p), 1 / p);
  // Power: idle power plus that of busy units; little is added while waiting for the host.
  const double idle = device.measured && device.measured->idle_power_w
                          ? *device.measured->idle_power_w
                          : device.idle_power_w.value_or(0.15 * device.power_limit_w);
  const double activity = std::clamp(constants.power_compute * estimate.compute_share +
                                         constants.power_memory * estimate.memory_share + constants.power_base,
                                     0.0, 1.0);
  const auto power = [&](double latency_ms) {
    const double busy = latency_ms > 0 ? std::min(1.0, estimate.device_ms / latency_ms) : 0;
    return std::min(device.power_limit_w, idle + (device.power_limit_w - idle) * activity * busy);
  };
  estimate.power_eager_w = power(estimate.latency_eager_ms);
  estimate.power_graph_w = power(estimate.latency_graph_ms);
  return estimate;
}

RooflineEstimate estimate_roofline(const std::vector<Kernel>& kernels, const MemoryFacts& memory,
                                   const Workload& workload, const Device& device, const RooflineConstants& constants,
                                   std::span<const std::uint32_t> same_as, const CancelToken& cancel) {
  std::vector<KernelTime> times;
  times.reserve(kernels.size());
  double host_us = 0;
  double compute_us = 0;
  double memory_us = 0;
  double device_us = 0;
  std::array<Ceilings, std::size_t(Math::Count)> ceilings;
  for (std::size_t m = 0; m < ceilings.size(); ++m) ceilings[m] = ceilings_of(device, Math(m), constants);
  PacedStop stop(cancel);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (stop()) {
      times.resize(kernels.size());
      break;
    }
    const Kernel& kernel = kernels[i];
    const bool is_timed = i < same_as.size() && same_as[i] < i;
    const KernelTime time =
        is_timed ? times[same_as[i]] : time_under(kernel, device, ceilings[std::size_t(unit_of(kernel))], constants);
    device_us += time.time_us;
    compute_us += std::min(time.compute_us, time.time_us);
    memory_us += std::min(time.memory_us, time.time_us);
    host_us += kernel.host_ops * kernel.runs * constants.host_op_us;
    times.push_back(time);
  }
  RooflineEstimate estimate = sum_up(device_us, compute_us, memory_us, host_us, device, constants);
  estimate.kernels = std::move(times);
  estimate.memory = estimate_memory(memory, workload, device);
  return estimate;
}

}  // namespace forerun
