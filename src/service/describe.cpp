#include "service/describe.hpp"

#include <fmt/format.h>

#include <cmath>

namespace forerun {

std::string describe_kernel(const Kernel& k) {
  const std::string label(k.label);
  switch (k.kernel_class) {
    case KernelClass::Conv:
    case KernelClass::DepthwiseConv:
    case KernelClass::ConvTranspose: {
      const double side = std::sqrt(k.kernel_area);
      const std::string window =
          side == std::floor(side) ? fmt::format("{0:.0f}x{0:.0f}", side) : fmt::format("{:.0f}", k.kernel_area);
      const std::string kind = k.stage == Stage::Backward ? label : std::string(name_of(k.kernel_class));
      return fmt::format(
          "{} {} {:.0f}→{:.0f}{}{} on {:.0f}", kind, window, k.input_channels, k.output_channels,
          k.stride > 1 ? fmt::format(" stride {:.0f}", k.stride) : "",
          k.groups > 1 && k.kernel_class == KernelClass::Conv ? fmt::format(" in {:.0f} groups", k.groups) : "",
          k.spatial);
    }
    case KernelClass::Linear:
      return fmt::format("{} {:.0f}→{:.0f}, {:.0f} rows", k.stage == Stage::Backward ? label : "linear", k.k, k.n, k.m);
    case KernelClass::BatchedMatMul:
      return fmt::format("matmul {:.0f} × ({:.0f}x{:.0f})({:.0f}x{:.0f})", k.batch, k.m, k.k, k.k, k.n);
    case KernelClass::Attention:
      return fmt::format("{} {:.0f} heads, {:.0f} queries x {:.0f} keys, {:.0f} wide", label, k.batch, k.m, k.n, k.k);
    case KernelClass::Experts: return fmt::format("experts: {:.0f} of {:.0f} rows", k.batch, k.m);
    default: return fmt::format("{} of {:.0f}", label, k.output_elements);
  }
}

std::string explain_bound(const Kernel& k, const KernelTime& t, const Device& device) {
  const double bytes = k.read_bytes + k.write_bytes;
  const double intensity = bytes > 0 ? k.flops / bytes : 0;
  switch (t.bound) {
    case Bound::Compute:
      return fmt::format(
          "arithmetic bounds it: {:.3g} FLOP per byte, {:.3g} ms of products against {:.3g} ms of traffic on {}",
          intensity, t.compute_us / 1e3, t.memory_us / 1e3, device.id);
    case Bound::Memory:
      return fmt::format(
          "memory bounds it: {:.3g} FLOP per byte, {:.3g} MB to move take {:.3g} ms, its arithmetic {:.3g} ms",
          intensity, bytes * k.runs / 1048576.0, t.memory_us / 1e3, t.compute_us / 1e3);
    case Bound::Launch:
    default:
      return fmt::format(
          "launching bounds it: {:.3g} ms of launches for {:.3g} ms of work; fewer, larger kernels would help",
          t.launch_us / 1e3, std::max(t.compute_us, t.memory_us) / 1e3);
  }
}

}  // namespace forerun
