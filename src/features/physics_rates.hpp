// What a device offers a kernel, and what the physics of all kinds of kernels share. Used by kernel_physics.cpp and
// product_physics.cpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "devices/architecture.hpp"
#include "features/kernel_physics.hpp"

namespace forerun {

inline constexpr double kUsualGhz = 1.9;
inline constexpr double kConvShare = 0.95;  // of their rate that convolutions on tensor cores reach

struct Rates {
  const ProductConstants* constants;
  const Architecture* architecture;
  double sms, clock_ghz;
  double per_clock;    // what one a clock and multiprocessor makes in a µs
  double peak_tflops;  // by the data sheet
  double tile_flops;   // per µs and multiprocessor
  double memory, l2;   // bytes per µs
  double l2_bytes, launch_scale;
  bool tensor;       // the kernel runs on tensor cores
  bool beside_host;  // launches take their time while other kernels run
  [[nodiscard]] double cycles_us(double cycles) const { return cycles / (clock_ghz * 1e3); }
};

[[nodiscard]] inline double element_bytes(Math math) {
  if (math == Math::Fp64) return 8;
  if (math == Math::Fp32 || math == Math::Tf32Tensor) return 4;
  return math == Math::Fp8Tensor || math == Math::Int8Tensor || math == Math::Int4Tensor ? 1 : 2;
}

[[nodiscard]] inline double slower_of(double a, double b, const Rates& rates) {
  const double high = std::max({a, b, 1e-9}), low = std::max(0.0, std::min(a, b)),
               sharpness = rates.constants->sharpness;
  return high * std::pow(1 + std::pow(low / high, sharpness), 1 / sharpness);
}

// Share of bytes that are still in L2: all while they take three quarters of it, none when they take a little more than
// all of it.
[[nodiscard]] inline double resident_share(double bytes, const Rates& rates) {
  return std::clamp((1.05 - bytes / rates.l2_bytes) / 0.3, 0.0, 1.0);
}
[[nodiscard]] inline double transfer_us(double bytes, double resident, const Rates& rates) {
  return bytes * (1 - resident) / rates.memory + bytes * resident / rates.l2;
}
[[nodiscard]] inline double activation_bytes(const Kernel& k) {
  return std::max(0.0, k.read_bytes - k.weight_bytes) + k.write_bytes;
}

// Matrix products and convolutions: fills in arithmetic and waves, adds to the bytes' time, returns what runs neither
// beside arithmetic nor beside memory. REQUIRES: out.memory_us and out.launch_us are there.
double time_product(const Kernel& kernel, const Device& device, const KernelSetting& setting, Rates rates,
                    KernelPhysics& out);

}  // namespace forerun
