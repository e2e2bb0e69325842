// What autocast adds to a forward pass, of inference or of training: weights are kept in fp32 and cast for every
// product, norms run in fp32 and their results are cast for the product after them.
#include "analysis/kernel_builder.hpp"

namespace forerun {
namespace {

// Reads `elements` in fp32, writes them in 16 bits.
Kernel cast_kernel(const Kernel& beside, double elements) {
  Kernel cast;
  cast.kernel_class = KernelClass::Elementwise;  // streams: no strides to follow
  cast.label = "autocast";
  cast.math = Math::Fp32;
  cast.node = beside.node;
  cast.block = beside.block;
  cast.runs = beside.runs;
  cast.read_bytes = 4 * elements;
  cast.write_bytes = 2 * elements;
  cast.output_elements = elements;
  return cast;
}

}  // namespace

std::vector<Kernel> with_autocast(const std::vector<Kernel>& kernels) {
  std::vector<Kernel> out;
  out.reserve(kernels.size() * 2);
  for (const Kernel& kernel : kernels) {
    if (kernel.macs > 0 && kernel.weight_bytes > 0) {
      out.push_back(cast_kernel(kernel, kernel.weight_bytes / 2));
      if (kernel.biased) out.back().launches = out.back().host_ops = 2;  // the bias, too
    }
    out.push_back(kernel);
    if (kernel.kernel_class != KernelClass::LayerNorm) continue;
    out.back().math = Math::Fp32;
    out.back().read_bytes *= 2;
    out.back().write_bytes *= 2;
    out.push_back(cast_kernel(kernel, kernel.output_elements));
  }
  return out;
}

}  // namespace forerun
