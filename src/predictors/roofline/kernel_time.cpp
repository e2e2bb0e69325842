#include "predictors/roofline/kernel_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "devices/architecture.hpp"
#include "features/kernel_facts.hpp"

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
    {{"fp16_tensor", "fp32", "fp16", nullptr}},  // products add up in fp32: without tensor cores they run at its rate
    {{"bf16_tensor", "bf16", "fp32", nullptr}},
    {{"fp8_tensor", nullptr, nullptr, nullptr}},
    {{"int8_tensor", "int8", nullptr, nullptr}},
    {{"int4_tensor", "int8_tensor", "int8", nullptr}},
    {{"fp16", "fp32", nullptr, nullptr}},
    {{"bf16", "fp32", nullptr, nullptr}},
}};

double smooth_max(double a, double b, double p) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high <= 0 ? 0 : high * std::pow(1 + std::pow(low / high, p), 1 / p);
}

// Share of the memory rate's price that data paid for in L2 still costs: 1 when it lies in memory.
double l2_price(double bytes, const Device& device, const RooflineConstants& constants) {
  const double l2_bytes = device.l2_mib.value_or(4) * 1048576.0;
  const double resident = std::clamp(1.0 - (bytes / l2_bytes - 0.4) / 0.6, 0.0, 1.0);
  return 1 - resident + resident / constants.l2_speedup;
}

// Factor on tensor-core products whose sides do not fit the units, grouped convolutions, gradients of convolutions.
double slowdown_of(const Kernel& kernel, bool tensor, const RooflineConstants& constants) {
  double slowdown = 1;
  if (tensor && kernel.kernel_class != KernelClass::Attention) {
    const double unit = kernel.math == Math::Tf32Tensor ? 4 : 8;
    const bool aligned = is_convolution(kernel.kernel_class)
                             ? std::fmod(kernel.input_channels / kernel.groups, unit) == 0 &&
                                   std::fmod(kernel.output_channels / kernel.groups, unit) == 0
                             : std::fmod(kernel.n, unit) == 0 && std::fmod(kernel.k, unit) == 0;
    if (!aligned) slowdown *= constants.misaligned;
  }
  if (is_convolution(kernel.kernel_class) && kernel.groups > 1) slowdown *= constants.grouped;
  return slowdown;
}

double gradient_factor(const Kernel& kernel, const RooflineConstants& constants) {
  if (kernel.stage != Stage::Backward ||
      !(is_convolution(kernel.kernel_class) || kernel.kernel_class == KernelClass::DepthwiseConv))
    return 1;
  return std::string_view(kernel.label) == "conv_weight_gradient" ? constants.weight_gradient
                                                                  : constants.input_gradient;
}

// Fused attention. Scores cost arithmetic and an exponential each, which has its own unit (16 a clock and
// multiprocessor). Queries go to blocks of up to 128 rows; a decode step gives each block one key head's piece of the
// cache.
double attention_us(const Kernel& kernel, const Device& device, const Ceilings& ceilings, double bytes_per_us,
                    const RooflineConstants& constants, double& memory_us) {
  constexpr double kRows = 128, kFewestRows = 64, kCachePiece = 512, kStartKeys = 32;
  const double sms = std::max(1, device.sm_count);
  const double flops_per_us =
      std::max(1e-3, ceilings.tflops * constants.classes[std::size_t(KernelClass::Attention)].compute) * 1e6 / sms;
  const double score_us = 4 * kernel.k / flops_per_us + constants.score_cost / (16 * ceilings.clock_mhz);
  const double plain_flops = 4 * kernel.batch * kernel.m * kernel.n * kernel.k;
  const double more = plain_flops > 0 ? std::max(1.0, kernel.flops / plain_flops) : 1;  // gradients
  if (kernel.m <= 1) {
    const double element = kernel.math == Math::Fp32 || kernel.math == Math::Tf32Tensor ? 4 : 2;
    const double key_heads =
        std::clamp((kernel.read_bytes - kernel.write_bytes) / std::max(1.0, 2 * kernel.n * kernel.k * element), 1.0,
                   std::max(1.0, kernel.batch));
    const double piece = std::min(kernel.n, kCachePiece);
    const double blocks = key_heads * std::ceil(kernel.n / kCachePiece);
    memory_us =
        std::max(memory_us, piece * 2 * element * kernel.k / (bytes_per_us / sms * constants.cache_block_speedup));
    return more * std::max(blocks / sms, 1.0) *
           (constants.decode_block_us +
            piece * kFewestRows * score_us * std::ceil(kernel.batch / key_heads / kFewestRows));
  }
  const double rows = std::clamp(kernel.m, kFewestRows, kRows);
  const double blocks = std::ceil(kernel.m / kRows) * kernel.batch;
  const double keys = kernel.causal ? 0.5 * (kernel.n + std::min(kRows, kernel.n)) : kernel.n;
  const double mean_us = rows * (keys + kStartKeys) * score_us + constants.attention_block_us;
  const double longest_us = rows * (kernel.n + kStartKeys) * score_us + constants.attention_block_us;
  return more * std::max(blocks / sms * mean_us, longest_us);
}

}  // namespace

std::string_view peak_key(const Device& device, Math math) {
  for (const char* key : kMathRows[std::size_t(math)].keys) {
    if (key == nullptr) break;
    if (device.peak_tflops.contains(key)) return key;
  }
  return "";
}

double peak_tflops(const Device& device, Math math) {
  const auto found = device.peak_tflops.find(std::string(peak_key(device, math)));
  return found == device.peak_tflops.end() ? 0 : found->second;
}

Math unit_of(const Kernel& kernel) {
  return kernel.math == Math::Fp16 || kernel.math == Math::Bf16 ? Math::Fp32 : kernel.math;
}

Ceilings ceilings_of(const Device& device, Math math, const RooflineConstants& constants) {
  Ceilings ceilings;
  ceilings.tflops = peak_tflops(device, math) * constants.unmeasured_compute;
  ceilings.tensor = on_tensor_cores(math) && has_tensor_rate(device, kMathRows[std::size_t(math)].keys);
  ceilings.memory_gb_per_s = device.memory_bandwidth_gb_per_s * constants.unmeasured_memory;
  ceilings.clock_mhz = device.clock_boost_mhz.value_or(1500);
  ceilings.launch_scale = std::clamp(1900 / ceilings.clock_mhz, 0.5, 2.0);
  if (device.maker == "Intel") ceilings.launch_scale = constants.intel_launch;
  // A card with little power for its rate cannot keep its clock in plain fp32; the watts a TFLOP/s takes shrink with
  // the process.
  if (math == Math::Fp32 && device.kind == "gpu") {
    const double needed_w =
        peak_tflops(device, math) * constants.watts_per_tflops_nm * architecture_of(device).process_nm;
    if (needed_w > device.power_limit_w && device.power_limit_w > 0) ceilings.tflops *= device.power_limit_w / needed_w;
  }
  if (device.measured) {
    for (const char* key : kMathRows[std::size_t(math)].keys) {
      if (key == nullptr) break;
      if (const auto found = device.measured->peak_tflops.find(key); found != device.measured->peak_tflops.end()) {
        ceilings.tflops = found->second;
        break;
      }
      if (device.peak_tflops.contains(key)) break;  // on the data sheet, not measured
    }
    if (device.measured->memory_bandwidth_gb_per_s)
      ceilings.memory_gb_per_s = *device.measured->memory_bandwidth_gb_per_s;
  }
  return ceilings;
}

double tile_us(const TiledProduct& product, int sm_count, double flops_per_us, double depth_cost, double split_us,
               const RooflineConstants& c) {
  struct Tile {
    double m, n, rate;
  };
  const double small = 0.5 * (c.tile_2k + c.tile_256);
  const Tile tiles[] = {{256, 128, 1.0},      {128, 256, 1.0},     {128, 128, c.tile_16k}, {128, 64, c.tile_8k},
                        {64, 128, c.tile_8k}, {64, 64, c.tile_4k}, {32, 128, c.tile_4k},   {128, 32, c.tile_4k},
                        {64, 32, c.tile_2k},  {32, 64, c.tile_2k}, {32, 32, small},        {16, 64, small},
                        {64, 16, small},      {16, 16, c.tile_256}};
  const double m = std::max(1.0, product.m), n = std::max(1.0, product.n), k = std::max(1.0, product.k);
  const double batch = std::max(1.0, product.batch);
  const double sms = std::max(1, sm_count);
  double best = 1e300;
  for (const Tile& tile : tiles) {
    const double count = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch;
    const double flops = 2 * tile.m * tile.n / (flops_per_us * tile.rate);
    for (double split = 1; split <= 16 && (split == 1 || k / split >= 128); split *= 2) {
      const double waves = std::ceil(count * split / sms);
      double us = waves * flops * (k / split + depth_cost);
      if (us >= best) continue;
      if (split > 1) us += c.split_cost * (batch * m * n * (split + 1) * split_us + 3);
      best = std::min(best, us);
    }
  }
  return best;
}

KernelTime time_under(const Kernel& kernel, const Device& device, const Ceilings& ceilings,
                      const RooflineConstants& constants) {
  const ClassConstants& c = constants.classes[std::size_t(kernel.kernel_class)];
  KernelTime result;
  const bool conv = is_convolution(kernel.kernel_class);
  const bool tensor = on_tensor_cores(kernel.math) && ceilings.tensor;
  const bool product = kernel.m > 0 && kernel.n > 0 && kernel.k > 0 && kernel.macs > 0 &&
                       kernel.kernel_class != KernelClass::DepthwiseConv;
  const bool attention = product && kernel.kernel_class == KernelClass::Attention;
  const double sms = std::max(1, device.sm_count);
  const double p = constants.smoothness;
  const double launch_us = c.overhead_us * ceilings.launch_scale;

  // Memory: weights come from there; activations that fit in L2 come from L2.
  const double activations = std::max(0.0, kernel.read_bytes - kernel.weight_bytes) + kernel.write_bytes;
  const double l2 = l2_price(activations, device, constants);
  const double rate = ceilings.memory_gb_per_s * c.memory * 1e3;  // bytes per µs
  result.memory_us = (kernel.weight_bytes + activations * l2) / rate;
  // A reduction gives each of its rows to one block; a few long rows leave most of the machine idle.
  if (kernel.inner > 1 && (kernel.kernel_class == KernelClass::LayerNorm ||
                           kernel.kernel_class == KernelClass::Reduce || kernel.kernel_class == KernelClass::Softmax ||
                           (kernel.kernel_class == KernelClass::BatchNorm && kernel.stage != Stage::Forward))) {
    const double rows =
        std::max(1.0, kernel.kernel_class == KernelClass::Reduce ? kernel.output_elements
                                                                 : kernel.output_elements / kernel.inner);
    const double block_rate = rate / sms * device.sm_share * constants.block_speedup;
    const double waves = std::ceil(rows / (sms * 4.0));
    result.memory_us = std::max(result.memory_us, waves * (kernel.read_bytes + kernel.write_bytes) / rows / block_rate *
                                                      std::min(4.0, std::max(1.0, rows / sms)));
  }

  result.memory_us = std::max(result.memory_us, kSerialStepUs * kernel.serial_steps);

  // Arithmetic.
  const double tflops = std::max(1e-3, ceilings.tflops);
  const double gradient = gradient_factor(kernel, constants);
  const double depth_cost = tensor ? constants.depth_tensor : constants.depth_plain;
  const double split_us = 4 / (ceilings.memory_gb_per_s * 1e3);
  if (attention) {
    result.compute_us = attention_us(kernel, device, ceilings, rate, constants, result.memory_us);
  } else if (product && std::min(kernel.m, kernel.n) > 1) {
    result.compute_us = gradient * slowdown_of(kernel, tensor, constants) *
                        tile_us({kernel.batch, kernel.m, kernel.n, kernel.k}, device.sm_count,
                                tflops * c.compute * 1e6 / sms, depth_cost, split_us, constants);
  } else if (kernel.flops > 0) {
    // Enough independent work to fill the machine: about 2048 results a multiprocessor. Matrix times vector streams its
    // matrix.
    const double parallel = std::max(1.0, kernel.output_elements) / (512.0 * sms);
    const double efficiency = product ? 0.1 : c.compute * parallel / (parallel + 0.5);
    result.compute_us = gradient * kernel.flops / (tflops * std::max(1e-4, efficiency) * 1e6);
  }
  double work = smooth_max(result.compute_us, result.memory_us, p);
  double launches = kernel.launches;
  // 3 x 3 convolutions in plain fp32 may go through Winograd's transform: 36 small products for every 4 x 4 results.
  if (conv && !tensor && kernel.stage == Stage::Forward && kernel.kernel_area == 9 && kernel.stride == 1 &&
      kernel.groups == 1 && kernel.spatial > 0) {
    const double side = std::ceil(std::sqrt(kernel.spatial) / 4);
    const double tiles = side * side * kernel.m / kernel.spatial;
    const double products_us = tile_us({36, tiles, kernel.output_channels, kernel.input_channels}, device.sm_count,
                                       tflops * constants.winograd * 1e6 / sms, depth_cost, split_us, constants);
    const double transformed =
        36 * 4 *
        (tiles * (kernel.input_channels + kernel.output_channels) + kernel.input_channels * kernel.output_channels);
    const double passes_us = result.memory_us + constants.winograd_passes * 2 * transformed *
                                                    l2_price(transformed, device, constants) / rate;
    if (products_us + passes_us + 3 * launch_us < work) {
      work = products_us + passes_us;
      result.compute_us = products_us;
      result.memory_us = passes_us;
      launches += 3;
    }
  }
  // Tensor-core convolutions work on channels-last tensors: input and output are converted, except where a 1 x 1
  // convolution is a product of planes whose size fits the units.
  if (conv && tensor && std::string_view(kernel.label) != kChannelsLastConv) {
    const double unit = kernel.math == Math::Tf32Tensor ? 4 : 8;
    const bool planes =
        kernel.kernel_area == 1 && kernel.stride == 1 && kernel.groups == 1 && std::fmod(kernel.spatial, unit) == 0;
    if (!planes) {
      const double passes = kernel.math == Math::Tf32Tensor ? constants.tf32_layout : constants.half_layout;
      const double layout_us =
          passes * activations * l2 / (ceilings.memory_gb_per_s * 1e3) + constants.layout_us * ceilings.launch_scale;
      result.memory_us += layout_us;
      work += layout_us;
    }
  }
  result.launch_us = launch_us * launches;
  if (device.kind == "cpu") result.launch_us = 0.5;
  result.bound = result.launch_us > work                ? Bound::Launch
                 : result.compute_us > result.memory_us ? Bound::Compute
                                                        : Bound::Memory;
  result.time_us = (work + result.launch_us) * kernel.runs;
  result.compute_us *= kernel.runs;
  result.memory_us *= kernel.runs;
  result.launch_us *= kernel.runs;
  return result;
}

KernelTime time_kernel(const Kernel& kernel, const Device& device, const RooflineConstants& constants) {
  return time_under(kernel, device, ceilings_of(device, unit_of(kernel), constants), constants);
}

}  // namespace forerun
