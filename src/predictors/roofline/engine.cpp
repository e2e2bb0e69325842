#include "predictors/roofline/engine.hpp"

#include <algorithm>

namespace forerun {
namespace {

bool is_fused_away(const Kernel& kernel, const Graph& graph) {
  if (kernel.node < 0) return false;
  if (kernel.kernel_class == KernelClass::Copy) return true;
  if (kernel.kernel_class != KernelClass::Elementwise) return false;
  switch (graph.blocks[std::size_t(kernel.block)].nodes[std::size_t(kernel.node)].kind) {
    case OpKind::Add:
    case OpKind::Mul:
    case OpKind::Sub:
    case OpKind::Div:
    case OpKind::Where:
    case OpKind::Cast: return true;
    default: return false;
  }
}

}  // namespace

std::vector<Kernel> engine_kernels(std::vector<Kernel> kernels, const Graph& graph) {
  std::erase_if(kernels, [&](const Kernel& kernel) { return is_fused_away(kernel, graph); });
  for (Kernel& kernel : kernels)
    kernel.launches = std::min(kernel.launches, kernel.kernel_class == KernelClass::Experts ? 4.0 : 1.0);
  return kernels;
}

}  // namespace forerun
