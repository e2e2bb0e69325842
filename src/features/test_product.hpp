// A matrix product as tests want one.
#pragma once

#include "analysis/kernels.hpp"

namespace forerun {

[[nodiscard]] inline Kernel test_product(double m, double n, double k, Math math = Math::Bf16Tensor) {
  const double bytes = math == Math::Fp32 ? 4 : 2;
  Kernel kernel;
  kernel.kernel_class = KernelClass::Linear;
  kernel.math = math;
  kernel.label = "Gemm";
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.macs = m * n * k;
  kernel.flops = 2 * kernel.macs;
  kernel.weight_bytes = bytes * n * k;
  kernel.read_bytes = kernel.weight_bytes + bytes * m * k;
  kernel.write_bytes = bytes * m * n;
  kernel.output_elements = m * n;
  return kernel;
}

}  // namespace forerun
