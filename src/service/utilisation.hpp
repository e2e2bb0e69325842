// How busy a device is during a pass or a step.
#pragma once

#include <span>

#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "records/kernel_terms.hpp"

namespace forerun {

// Shares of the time from 0 to 1. What a profiler or NVML would show: docs/roofline.md.
struct Utilisation {
  double gpu_busy = 0;          // some kernel runs
  double tensor_core = 0;       // the tensor cores' arithmetic, of their peak
  double tensor_core_time = 0;  // kernels run that use tensor cores
  double memory_bandwidth = 0;  // bytes from and to memory, of the data sheet's bandwidth
  double launch = 0, host = 0;  // no kernel runs: launches on the device, waiting for the host
};

// `kernels` with their terms, in µs; `repeats`: passes of them in the step of `total_us`.
[[nodiscard]] Utilisation utilisation_of(std::span<const Kernel> kernels, std::span<const KernelTerms> terms,
                                         const Device& device, double repeats, double total_us);

}  // namespace forerun
