// How long one kernel takes by the data sheet alone: tiles and waves, memory and L2, launches. Its few constants are round
// figures of how GPUs are built, the same for every device and fitted to none: what is learned against it holds on a device
// that nobody measured, and when the roofline's constants are fitted again.
#pragma once

#include "analysis/kernels.hpp"
#include "devices/device.hpp"

namespace forerun {

// How many copies of its weights (or of a decode step's cache) a measuring loop went round. In a network every kernel has its
// own: none is left in L2 from the last time.
inline constexpr double kColdCopies = 1000;

struct KernelPhysics {
  double compute_us = 0, memory_us = 0, launch_us = 0;
  double total_us = 0;    // of one execution
  double waves = 0;       // blocks of work per multiprocessor
  double resident = 0;    // share of its bytes that lie in L2 when it starts
  double key_heads = 1;   // attention: heads of keys, over the batch
  bool winograd = false;  // 3 x 3 convolution in plain fp32 through Winograd's transform
};
[[nodiscard]] KernelPhysics kernel_physics(const Kernel& kernel, const Device& device, double weight_copies = kColdCopies);

}  // namespace forerun
