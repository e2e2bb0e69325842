// How long one kernel takes by the data sheet alone: tiles and waves, memory and L2, launches. Its constants are round
// figures of how GPUs and their libraries are built, the same for every device, set by hand with all sweeps in view:
// what is learned against it holds on a device that nobody measured, and when the roofline's constants are fitted
// again.
#pragma once

#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "features/product_constants.hpp"
#include "records/kernel_terms.hpp"

namespace forerun {

// In which circumstances a kernel runs. As it stands: in a network that runs again and again, with today's libraries.
struct KernelSetting {
  // Copies of its weights (or of a decode step's cache) that a measuring loop goes round. In a network every kernel has
  // its own: none is left in L2 from the last time.
  double weight_copies = 1000;
  bool few_calls = false;    // a loop so short that the power limit slows long calls alone
  bool old_library = false;  // cuBLAS of PyTorch 2.1: one tile shape for all batched products in plain fp32
};

struct KernelPhysics {
  double compute_us = 0, memory_us = 0, launch_us = 0;
  double total_us = 0;    // of one execution
  double waves = 0;       // blocks of work per multiprocessor
  double resident = 0;    // share of its bytes that lie in L2 when it starts
  double key_heads = 1;   // attention: heads of keys, over the batch
  bool winograd = false;  // 3 x 3 convolution in plain fp32 through Winograd's transform
};
[[nodiscard]] KernelPhysics kernel_physics(const Kernel& kernel, const Device& device,
                                           const KernelSetting& setting = {},
                                           const ProductConstants& constants = kProducts);

// Its total by cause, in µs of one execution.
[[nodiscard]] KernelTerms terms_of(const KernelPhysics& physics, const ProductConstants& constants = kProducts);

}  // namespace forerun
