// How long one kernel takes on one device: the formulas behind time_kernel() and estimate_roofline();
// docs/method/analytic.md.
#pragma once

#include "predictors/roofline/roofline.hpp"

namespace forerun {

// What a device offers one kind of arithmetic, looked up once for many kernels.
struct Ceilings {
  double tflops = 0, memory_gb_per_s = 0;
  double clock_mhz = 0;     // 1500 where nobody says
  double launch_scale = 1;  // launches take cycles: fewer microseconds at a higher clock
  bool tensor = false;      // this arithmetic has tensor cores on the device; without, products run at the plain rate
};
[[nodiscard]] Ceilings ceilings_of(const Device& device, Math math, const RooflineConstants& constants);

// The key of Device::peak_tflops that this arithmetic runs at; "" when the device has no unit for it.
[[nodiscard]] std::string_view peak_key(const Device& device, Math math);

// The unit that does a kernel's work: frameworks compute element-wise operators and norms in fp32 whatever is stored.
[[nodiscard]] Math unit_of(const Kernel& kernel);

[[nodiscard]] KernelTime time_under(const Kernel& kernel, const Device& device, const Ceilings& ceilings,
                                    const RooflineConstants& constants);

// A product batch x (m x k)(k x n) in tiles on multiprocessors of `flops_per_us` each: the best of a few tile shapes
// and of splitting its depth, waves of tiles rounded up to whole ones. `split_us` is what one split result costs per
// element.
struct TiledProduct {
  double batch = 1, m = 1, n = 1, k = 1;
};
[[nodiscard]] double tile_us(const TiledProduct& product, int sm_count, double flops_per_us, double depth_cost,
                             double split_us, const RooflineConstants& constants);

}  // namespace forerun
