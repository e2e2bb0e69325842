#include "features/operator_sums.hpp"

namespace forerun {

OperatorClass operator_class_of(const Kernel& kernel) {
  switch (kernel.kernel_class) {
    case KernelClass::Conv:
    case KernelClass::ConvTranspose:
      if (kernel.groups > 1) return OperatorClass::GroupedConv;
      return kernel.kernel_area > 1 ? OperatorClass::SpatialConv : OperatorClass::PointwiseConv;
    case KernelClass::DepthwiseConv: return OperatorClass::GroupedConv;
    case KernelClass::Linear:
    case KernelClass::BatchedMatMul:
    case KernelClass::Attention:
    case KernelClass::Experts:
    case KernelClass::Recurrent: return OperatorClass::Product;
    case KernelClass::BatchNorm:
    case KernelClass::LayerNorm:
    case KernelClass::Softmax: return OperatorClass::Norm;
    case KernelClass::Elementwise: return OperatorClass::Elementwise;
    case KernelClass::Pool:
    case KernelClass::Reduce: return OperatorClass::Pool;
    default: return OperatorClass::Move;
  }
}

OperatorSums sum_operators(std::span<const Kernel> kernels) {
  OperatorSums sums{};
  for (const Kernel& kernel : kernels) {
    double* part = &sums[3 * std::size_t(operator_class_of(kernel))];
    part[0] += kernel.macs * kernel.runs / 1e9;
    part[1] += (kernel.read_bytes + kernel.write_bytes) * kernel.runs / 1e6;
    part[2] += kernel.runs;
  }
  sums.back() = 1;
  return sums;
}

double gmacs_of(const OperatorSums& sums) {
  double all = 0;
  for (std::size_t c = 0; c < kOperatorClasses; ++c) all += gmacs_of(sums, c);
  return all;
}

}  // namespace forerun
