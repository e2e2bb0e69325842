#include "predictors/roofline/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.hpp"

namespace forerun {
namespace {

// Keys of Device::peak_tflops to try for each Math, best first.
struct MathRow {
  std::array<const char*, 4> keys;
};
constexpr std::array<MathRow, std::size_t(Math::Count)> kMathRows = {{
    {{"fp64_tensor", "fp64", nullptr, nullptr}},
    {{"fp32", nullptr, nullptr, nullptr}},
    {{"tf32_tensor", "fp32_tensor", "fp32", nullptr}},
    {{"fp16_tensor", "fp16", "fp32", nullptr}},
    {{"bf16_tensor", "bf16", "fp32", nullptr}},
    {{"fp8_tensor", nullptr, nullptr, nullptr}},
    {{"int8_tensor", "int8", nullptr, nullptr}},
    {{"int4_tensor", "int8_tensor", "int8", nullptr}},
    {{"fp16", "fp32", nullptr, nullptr}},
    {{"bf16", "fp32", nullptr, nullptr}},
}};

bool is_tensor(Math math) {
  return math == Math::Tf32Tensor || math == Math::Fp16Tensor || math == Math::Bf16Tensor || math == Math::Fp8Tensor ||
         math == Math::Int8Tensor || math == Math::Int4Tensor;
}

// Share of the machine that the tiles of a product keep busy: the best of a few tile shapes, waves rounded up. A product
// too small for one wave may split its depth over idle multiprocessors, at a price.
double wave_efficiency(const Kernel& kernel, int sm_count) {
  struct Tile {
    double m, n, rate;
  };
  constexpr Tile kTiles[] = {{256, 128, 1.0}, {128, 128, 0.97}, {128, 64, 0.86}, {64, 64, 0.72}, {64, 32, 0.55}, {32, 32, 0.38}, {16, 16, 0.15}};
  double best = 0.01;
  const double work = std::max(1.0, kernel.m) * std::max(1.0, kernel.n);
  for (const Tile& tile : kTiles) {
    const double tiles_m = std::ceil(std::max(1.0, kernel.m) / tile.m);
    const double tiles_n = std::ceil(std::max(1.0, kernel.n) / tile.n);
    double tiles = tiles_m * tiles_n * std::max(1.0, kernel.batch);
    const double padding = work / (tiles_m * tile.m * tiles_n * tile.n);
    const double split = std::clamp(std::floor(sm_count / std::max(1.0, tiles)), 1.0, std::max(1.0, std::floor(kernel.k / 256)));
    tiles *= split;
    const double waves = std::ceil(tiles / sm_count);
    const double busy = tiles / (waves * sm_count);
    best = std::max(best, padding * busy * tile.rate * (split > 1 ? 0.8 : 1.0));
  }
  return best;
}

struct Ceilings {
  double tflops = 0, memory_gb_per_s = 0;
};

Ceilings ceilings_of(const Device& device, Math math, const RooflineConstants& constants) {
  Ceilings ceilings{peak_tflops(device, math) * constants.unmeasured_compute,
                    device.memory_bandwidth_gb_per_s * constants.unmeasured_memory};
  if (device.measured) {
    for (const char* key : kMathRows[std::size_t(math)].keys) {
      if (key == nullptr) break;
      if (const auto found = device.measured->peak_tflops.find(key); found != device.measured->peak_tflops.end()) {
        ceilings.tflops = found->second;
        break;
      }
      if (device.peak_tflops.contains(key)) break;  // on the data sheet, not measured
    }
    if (device.measured->memory_bandwidth_gb_per_s) ceilings.memory_gb_per_s = *device.measured->memory_bandwidth_gb_per_s;
  }
  return ceilings;
}

}  // namespace

double peak_tflops(const Device& device, Math math) {
  for (const char* key : kMathRows[std::size_t(math)].keys) {
    if (key == nullptr) break;
    if (const auto found = device.peak_tflops.find(key); found != device.peak_tflops.end()) return found->second;
  }
  return 0;
}

std::optional<std::string> precision_problem(const Device& device, Precision precision) {
  const auto has = [&](const char* key) { return device.peak_tflops.contains(key); };
  const std::string name(name_of(precision));
  switch (precision) {
    case Precision::Fp16:
      if (!has("fp16_tensor") && !has("fp16")) return device.id + " has no fp16 arithmetic: estimated at its fp32 rate";
      break;
    case Precision::Bf16:
    case Precision::AmpBf16:
      if (!has("bf16_tensor") && !has("bf16")) return device.id + " has no bf16 arithmetic: estimated at its fp32 rate";
      break;
    case Precision::Tf32:
      if (!has("tf32_tensor")) return device.id + " has no tf32 units: estimated at its fp32 rate";
      break;
    default: break;
  }
  return std::nullopt;
}

namespace {

KernelTime time_under(const Kernel& kernel, const Device& device, const Ceilings& ceilings, const RooflineConstants& constants) {
  const ClassConstants& c = constants.classes[std::size_t(kernel.kernel_class)];
  KernelTime result;
  const bool product = kernel.m > 0 && kernel.n > 0 && kernel.k > 0 && kernel.macs > 0;
  double flops = kernel.flops;
  if (kernel.kernel_class == KernelClass::Attention && kernel.causal && kernel.m > 1) flops *= 0.5 * (1 + 1 / std::max(1.0, kernel.m));
  double efficiency = c.compute;
  if (product && kernel.kernel_class != KernelClass::DepthwiseConv && kernel.kernel_class != KernelClass::Attention) {
    efficiency *= wave_efficiency(kernel, device.sm_count);
    efficiency *= kernel.k / (kernel.k + constants.k_half * (is_tensor(kernel.math) ? 1.0 : 0.25));
  } else {
    // Enough independent work to fill the machine: about 2048 results a multiprocessor.
    const double parallel = std::max(1.0, kernel.output_elements) / (512.0 * device.sm_count);
    efficiency *= parallel / (parallel + 0.5);
  }
  const bool conv = kernel.kernel_class == KernelClass::Conv || kernel.kernel_class == KernelClass::ConvTranspose;
  double slowdown = 1;
  if (product && is_tensor(kernel.math)) {
    const double unit = kernel.math == Math::Tf32Tensor ? 4 : 8;
    const bool aligned = conv ? std::fmod(kernel.input_channels / kernel.groups, unit) == 0 && std::fmod(kernel.output_channels / kernel.groups, unit) == 0
                              : std::fmod(kernel.n, unit) == 0 && std::fmod(kernel.k, unit) == 0;
    if (!aligned) slowdown *= constants.misaligned;
  }
  if (conv && kernel.groups > 1) slowdown *= constants.grouped;
  if (kernel.stage == Stage::Backward && (conv || kernel.kernel_class == KernelClass::DepthwiseConv)) {
    slowdown *= std::string_view(kernel.label) == "conv_weight_gradient" ? constants.weight_gradient : constants.input_gradient;
  }
  if (flops > 0) {
    const double tflops = std::max(1e-3, ceilings.tflops) * std::max(1e-3, efficiency);
    result.compute_us = slowdown * flops / (tflops * 1e6);
  }
  // Weights come from memory; activations that fit in half the L2 come from there.
  const double l2_bytes = device.l2_mib.value_or(4) * 1048576.0;
  const double activations = std::max(0.0, kernel.read_bytes - kernel.weight_bytes) + kernel.write_bytes;
  const double resident = std::clamp(1.0 - (activations / l2_bytes - 0.4) / 0.6, 0.0, 1.0);
  const double rate = ceilings.memory_gb_per_s * c.memory * 1e3;  // bytes per µs
  result.memory_us = kernel.weight_bytes / rate + activations / rate * (1 - resident + resident / constants.l2_speedup);
  // A reduction gives each of its rows to one block; a few long rows leave most of the machine idle.
  if (kernel.inner > 1 && (kernel.kernel_class == KernelClass::LayerNorm || kernel.kernel_class == KernelClass::Reduce ||
                           kernel.kernel_class == KernelClass::Softmax || (kernel.kernel_class == KernelClass::BatchNorm && kernel.stage != Stage::Forward))) {
    const double rows = std::max(1.0, kernel.kernel_class == KernelClass::Reduce ? kernel.output_elements : kernel.output_elements / kernel.inner);
    const double block_rate = rate / device.sm_count * device.sm_share * constants.block_speedup;
    const double waves = std::ceil(rows / (device.sm_count * 4.0));
    result.memory_us = std::max(result.memory_us, waves * (kernel.read_bytes + kernel.write_bytes) / rows / block_rate * std::min(4.0, std::max(1.0, rows / device.sm_count)));
  }
  result.launch_us = c.overhead_us * kernel.launches;
  if (device.kind == "cpu") result.launch_us = 0.5;
  result.memory_us = std::max(result.memory_us, kSerialStepUs * kernel.serial_steps);
  double work = std::max(result.compute_us, result.memory_us);
  if (conv && is_tensor(kernel.math)) {
    const double passes = kernel.math == Math::Tf32Tensor ? constants.tf32_layout : constants.half_layout;
    const double layout_us = passes * activations / (ceilings.memory_gb_per_s * 1e3) * (1 - resident + resident / constants.l2_speedup);
    result.memory_us += layout_us;
    work += layout_us;
  }
  result.bound = result.launch_us > work                     ? Bound::Launch
                 : result.compute_us > result.memory_us ? Bound::Compute
                                                        : Bound::Memory;
  result.time_us = (work + result.launch_us) * kernel.runs;
  result.compute_us *= kernel.runs;
  result.memory_us *= kernel.runs;
  result.launch_us *= kernel.runs;
  return result;
}

}  // namespace

KernelTime time_kernel(const Kernel& kernel, const Device& device, const RooflineConstants& constants) {
  return time_under(kernel, device, ceilings_of(device, kernel.math, constants), constants);
}

RooflineEstimate estimate_roofline(const Graph& graph, const std::vector<Kernel>& kernels, const Workload& workload,
                                   const Device& device, const RooflineConstants& constants) {
  return estimate_roofline(kernels, count_memory(graph, kernels, workload), workload, device, constants);
}

RooflineEstimate estimate_roofline(const std::vector<Kernel>& kernels, const MemoryFacts& memory, const Workload& workload, const Device& device,
                                   const RooflineConstants& constants) {
  RooflineEstimate estimate;
  estimate.kernels.reserve(kernels.size());
  double host_us = 0;
  double compute_us = 0;
  double memory_us = 0;
  double device_us = 0;
  std::array<Ceilings, std::size_t(Math::Count)> ceilings;
  for (std::size_t m = 0; m < ceilings.size(); ++m) ceilings[m] = ceilings_of(device, Math(m), constants);
  for (const Kernel& kernel : kernels) {
    const KernelTime time = time_under(kernel, device, ceilings[std::size_t(kernel.math)], constants);
    device_us += time.time_us;
    compute_us += std::min(time.compute_us, time.time_us);
    memory_us += std::min(time.memory_us, time.time_us);
    host_us += kernel.host_ops * kernel.runs * constants.host_op_us;
    estimate.kernels.push_back(time);
  }
  estimate.device_ms = device_us / 1e3;
  estimate.host_ms = host_us / 1e3;
  estimate.compute_share = device_us > 0 ? compute_us / device_us : 0;
  estimate.memory_share = device_us > 0 ? memory_us / device_us : 0;
  estimate.latency_graph_ms = estimate.device_ms;
  const double p = constants.overlap_power;
  estimate.latency_eager_ms = std::pow(std::pow(estimate.device_ms, p) + std::pow(estimate.host_ms, p), 1 / p);
  // Power: idle plus what busy units draw; waiting for the host draws little.
  const double idle = device.measured && device.measured->idle_power_w ? *device.measured->idle_power_w
                                                                        : device.idle_power_w.value_or(0.15 * device.power_limit_w);
  const double activity = std::clamp(constants.power_compute * estimate.compute_share + constants.power_memory * estimate.memory_share + constants.power_base, 0.0, 1.0);
  const auto power = [&](double latency_ms) {
    const double busy = latency_ms > 0 ? std::min(1.0, estimate.device_ms / latency_ms) : 0;
    return std::min(device.power_limit_w, idle + (device.power_limit_w - idle) * activity * busy);
  };
  estimate.power_eager_w = power(estimate.latency_eager_ms);
  estimate.power_graph_w = power(estimate.latency_graph_ms);
  estimate.memory = estimate_memory(memory, workload, device);
  return estimate;
}

}  // namespace forerun
