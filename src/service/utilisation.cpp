#include "service/utilisation.hpp"

#include <algorithm>

#include "features/kernel_facts.hpp"
#include "predictors/roofline/kernel_time.hpp"
#include "predictors/roofline/traffic.hpp"

namespace forerun {

Utilisation utilisation_of(std::span<const Kernel> kernels, std::span<const KernelTerms> terms, const Device& device,
                           double repeats, double total_us) {
  double busy_us = 0, tensor_us = 0, launch_us = 0, host_us = 0, bytes = 0, peak_us = 0;
  for (std::size_t i = 0; i < std::min(kernels.size(), terms.size()); ++i) {
    const Kernel& kernel = kernels[i];
    const double running = std::max(0.0, terms[i].total() - terms[i].host - terms[i].launch);
    busy_us += running;
    launch_us += terms[i].launch;
    host_us += terms[i].host;
    bytes += traffic_of(kernel, device).memory * kernel.runs;
    if (!on_tensor_cores(kernel.math, device)) continue;
    tensor_us += running;
    if (const double peak = peak_tflops(device, kernel.math); peak > 0)
      peak_us += kernel.flops * kernel.runs / (peak * 1e6);
  }
  const auto share = [&](double us) { return total_us > 0 ? std::clamp(repeats * us / total_us, 0.0, 1.0) : 0; };
  Utilisation use;
  use.gpu_busy = share(busy_us);
  use.tensor_core_time = share(tensor_us);
  use.tensor_core = std::min(share(peak_us), use.tensor_core_time);
  use.memory_bandwidth = std::min(share(bytes / (device.memory_bandwidth_gb_per_s * 1e3)), use.gpu_busy);
  use.launch = share(launch_us);
  use.host = share(host_us);
  return use;
}

}  // namespace forerun
