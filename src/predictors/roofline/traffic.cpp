#include "predictors/roofline/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "features/kernel_facts.hpp"

namespace forerun {
namespace {

constexpr double kTile = 128;        // rows and columns of a GEMM's output tile
constexpr double kPlainTile = 160;   // the same as L2 sees it: blocks on one multiprocessor share some reads
constexpr double kTensorTile = 300;  // tiles of 256 x 128, shared inside clusters
constexpr double kWaveTile = 150;    // side of a wave's share per multiprocessor, as memory sees it

// Operands of a tiled product, read by each block of its grid once per tile.
double tiled_reads(const Kernel& k, double element, double tile) {
  const double across = std::max(1.0, k.n / tile), down = std::max(1.0, k.m / tile);
  return element * k.batch * (k.m * k.k * across + k.k * k.n * down);
}

// What a product reads from memory: an operand that fills less than half of L2 once, another as often as waves of
// blocks, which lie as squares, need it again.
double wave_reads(const Kernel& k, double element, const Device& device) {
  const double side = kWaveTile * std::sqrt(double(std::max(1, device.sm_count)));
  const double half = device.l2_mib.value_or(4) * 1048576.0 / 2;
  const double a = element * k.m * k.k, b = element * k.k * k.n;
  return k.batch * (a * (a < half ? 1 : std::max(1.0, k.n / side)) + b * (b < half ? 1 : std::max(1.0, k.m / side)));
}

double element_bytes(const Kernel& kernel) {
  if (kernel.output_elements <= 0) return 4;
  return std::clamp(kernel.write_bytes / kernel.output_elements, 0.5, 8.0);
}

// PyTorch's convolutions on tensor cores copy their input to channels last and their output back.
bool changes_layout(const Kernel& kernel, const Device& device) {
  if (!is_convolution(kernel.kernel_class) || !on_tensor_cores(kernel.math, device)) return false;
  const double unit = kernel.math == Math::Tf32Tensor ? 4 : 8;
  const bool is_product_of_planes =
      kernel.kernel_area == 1 && kernel.stride == 1 && kernel.groups == 1 && std::fmod(kernel.spatial, unit) == 0;
  return std::string_view(kernel.label) != kChannelsLastConv && !is_product_of_planes;
}

}  // namespace

Traffic traffic_of(const Kernel& kernel, const Device& device) {
  const double once = kernel.read_bytes + kernel.write_bytes;
  Traffic traffic{once, once, once};
  const double element = element_bytes(kernel);
  const bool is_product = kernel.macs > 0 && kernel.m > 1 && kernel.n > 1 && kernel.k > 0;
  if (kernel.kernel_class == KernelClass::Attention && is_product) {
    const double blocks = std::ceil(kernel.m / kTile);
    traffic.l2 = std::max(once, element * kernel.batch * (2 * kernel.m * kernel.k + 2 * blocks * kernel.n * kernel.k));
    traffic.l1 = traffic.l2;
  } else if (kernel.kernel_class == KernelClass::DepthwiseConv || kernel.kernel_class == KernelClass::Pool) {
    traffic.l1 = std::max(once, element * kernel.output_elements * (std::max(1.0, kernel.kernel_area) + 1));
  } else if (is_product && (is_convolution(kernel.kernel_class) || is_matrix_product(kernel.kernel_class))) {
    const double tile = on_tensor_cores(kernel.math, device) ? kTensorTile : kPlainTile;
    traffic.l1 = std::max(once, tiled_reads(kernel, element, kTile) + kernel.write_bytes);
    traffic.l2 = std::clamp(tiled_reads(kernel, element, tile) + kernel.write_bytes, once, traffic.l1);
    // A convolution's windows overlap: its product view reads more than its input holds.
    if (is_matrix_product(kernel.kernel_class))
      traffic.memory = std::clamp(wave_reads(kernel, element, device) + kernel.write_bytes, once, traffic.l2);
  }
  if (changes_layout(kernel, device)) {
    const double activations = kernel.read_bytes - kernel.weight_bytes + kernel.write_bytes;
    for (double* bytes : {&traffic.l1, &traffic.l2, &traffic.memory}) *bytes += 2 * activations;
  }
  return traffic;
}

}  // namespace forerun
