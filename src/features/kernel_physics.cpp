#include "features/kernel_physics.hpp"

#include <algorithm>
#include <cmath>

#include "features/kernel_facts.hpp"
#include "features/physics_rates.hpp"

namespace forerun {
namespace {

// Shares of the data sheet's rates that good kernels reach.
constexpr double kAttentionShare = 0.65;
constexpr double kElementShare = 0.12;  // of plain fp32: element-wise arithmetic
// Norms, softmax and reductions, whose threads wait for each other: bytes per clock and multiprocessor. Layer norms
// read their rows twice, the second time from L2 where it is large.
constexpr double kReducingPerClock = 7.8, kTwiceReadShare = 0.65, kLargeL2Bytes = 32 * 1048576.0;
constexpr double kStreamedPerClock = 27;  // from L2 where every byte is read once, of one multiprocessor
// Cycles of a multiprocessor for one result of a window, and for each of its elements: pooling, depthwise convolutions
// (PyTorch's own and cuDNN's). For a row of a layer norm, and a plane of a batch norm and each of its elements; a block
// takes one.
constexpr double kPoolCycles = 2.1, kPoolAreaCycles = 0.22, kDepthwiseCycles = 1.4, kDepthwiseAreaCycles = 0.12,
                 kCudnnDepthwiseAreaCycles = 0.075;
constexpr double kRowCycles = 300, kPlaneCycles = 120, kPlaneElementCycles = 0.33;
constexpr double kAttentionLaunchUs = 3.5, kWindowLaunchUs = 2.1, kElementLaunchUs = 1.4;  // at the usual clock
constexpr double kHalfNormUs = 3.5;         // more for batch norms in 16 bits, whose statistics are converted
constexpr double kExponentialShare = 0.42;  // of the exponentials' time in a score's

// Those in fp16 that PyTorch gives to cuDNN; the others run on kernels of its own.
bool is_cudnn_depthwise(const Kernel& k) {
  const double side = std::sqrt(k.spatial) * k.stride;
  return k.math == Math::Fp16 && k.stage == Stage::Forward &&
         (k.kernel_area == 1 || k.kernel_area == 9 || k.kernel_area == 25) && side >= 7 &&
         (k.stride == 1 || (k.stride == 2 && (k.input_channels >= 512 || (k.input_channels >= 256 && side >= 28))));
}
bool is_window(const Kernel& k) {
  return k.kernel_class == KernelClass::DepthwiseConv || k.kernel_class == KernelClass::Pool;
}
// A batch norm that applies what training found: a block a plane.
bool is_plane_norm(const Kernel& k) {
  return k.kernel_class == KernelClass::BatchNorm && k.stage == Stage::Forward && !k.in_step && k.spatial > 1;
}
bool is_reducing(const Kernel& k) {
  return k.kernel_class == KernelClass::LayerNorm || k.kernel_class == KernelClass::Softmax ||
         k.kernel_class == KernelClass::Reduce || (k.kernel_class == KernelClass::BatchNorm && !is_plane_norm(k));
}

bool is_graphics_card(const Device& device) {
  const auto named = [&](const char* word) { return device.name.find(word) != std::string::npos; };
  return named("RTX") || named("GTX") || named("TITAN");
}

double launches_us(const Kernel& k, double one_us, const Rates& rates) {
  const double each = rates.beside_host
                          ? rates.constants->intel_launch_us
                          : (one_us + (k.in_step ? rates.constants->step_gap_us : 0)) * rates.launch_scale;
  return each * std::max(1.0, k.launches);
}
double with_launches(double us, const KernelPhysics& physics, const Rates& rates) {
  return rates.beside_host ? slower_of(us, physics.launch_us, rates) : us + physics.launch_us;
}

void time_attention(const Kernel& k, const Rates& rates, double copies, KernelPhysics& out) {
  constexpr double kRows = 128, kFewestRows = 64, kCachePiece = 512, kStartKeys = 32, kBlockUs = 2.0, kPieceUs = 1.4;
  const double bytes = k.read_bytes + k.write_bytes, element = element_bytes(k.math);
  const double score_us = 4 * k.k / rates.tile_flops +
                          kExponentialShare / (rates.architecture->exponentials_per_clock * rates.clock_ghz * 1e3);
  const bool decode = k.m <= 1;
  out.resident = std::clamp((1.3 - bytes * (decode ? copies : 1) / rates.l2_bytes) / 0.6, 0.0, 1.0);
  out.memory_us = transfer_us(bytes, out.resident, rates);
  out.key_heads =
      std::clamp((k.read_bytes - k.write_bytes) / std::max(1.0, 2 * k.n * k.k * element), 1.0, std::max(1.0, k.batch));
  const double plain_flops = 4 * k.batch * k.m * k.n * k.k;
  const double more = plain_flops > 0 ? std::max(1.0, k.flops / plain_flops) : 1;  // gradients
  if (decode) {
    out.waves = out.key_heads * std::ceil(k.n / kCachePiece) / rates.sms;
    out.compute_us = more * std::max(out.waves, 1.0) *
                     (kPieceUs + std::min(k.n, kCachePiece) * kFewestRows * score_us *
                                     std::ceil(k.batch / out.key_heads / kFewestRows));
  } else {
    out.waves = std::ceil(k.m / kRows) * k.batch / rates.sms;
    const double rows = std::clamp(k.m, kFewestRows, kRows);
    const double keys = k.causal ? 0.5 * (k.n + std::min(kRows, k.n)) : k.n;
    out.compute_us = more * std::max(out.waves * (rows * (keys + kStartKeys) * score_us + kBlockUs),
                                     rows * (k.n + kStartKeys) * score_us + kBlockUs);
  }
  out.launch_us = launches_us(k, kAttentionLaunchUs, rates);
  out.total_us = with_launches(slower_of(out.compute_us, out.memory_us, rates), out, rates);
}

// Everything but products. Returns what runs neither beside arithmetic nor beside memory.
double time_streaming(const Kernel& k, const Device& device, const Rates& rates, KernelPhysics& out) {
  double beside_us = 0;
  const double cycle_us = 1 / rates.per_clock, area = std::max(1.0, k.kernel_area);
  const bool quick =
      k.kernel_class == KernelClass::Elementwise || k.kernel_class == KernelClass::Embedding || is_plane_norm(k);
  out.launch_us = launches_us(k,
                              quick          ? kElementLaunchUs
                              : is_window(k) ? kWindowLaunchUs
                                             : rates.constants->launch_us,
                              rates);
  if (k.kernel_class == KernelClass::Pool) {
    out.compute_us = k.output_elements * (kPoolCycles + kPoolAreaCycles * area) * cycle_us;
  } else if (k.kernel_class == KernelClass::DepthwiseConv) {
    const double cycles =
        is_cudnn_depthwise(k) ? kCudnnDepthwiseAreaCycles * area : kDepthwiseCycles + kDepthwiseAreaCycles * area;
    out.compute_us = std::max(k.output_elements, k.flops / (2 * area)) * cycles * cycle_us;
  } else if (k.kernel_class == KernelClass::LayerNorm && k.inner > 0) {
    out.compute_us = k.output_elements / k.inner * kRowCycles * cycle_us;
  } else if (is_plane_norm(k)) {
    out.compute_us = k.output_elements * (kPlaneCycles / k.spatial + kPlaneElementCycles) * cycle_us;
    if (element_bytes(k.math) == 2) beside_us = kHalfNormUs * rates.launch_scale;
  } else {
    out.compute_us = k.flops / (data_sheet_tflops(device, Math::Fp32) * kElementShare * 1e6);
  }
  out.memory_us = std::max(out.memory_us, kSerialStepUs * k.serial_steps);
  out.waves = k.output_elements / rates.sms / 2048;
  return beside_us;
}

}  // namespace

KernelPhysics kernel_physics(const Kernel& k, const Device& device, const KernelSetting& setting,
                             const ProductConstants& c) {
  KernelPhysics out;
  const bool product = k.m > 0 && k.macs > 0 && k.kernel_class != KernelClass::DepthwiseConv;
  const bool attention = product && k.kernel_class == KernelClass::Attention;
  Rates rates{};
  rates.constants = &c;
  rates.architecture = &architecture_of(device);
  rates.tensor = on_tensor_cores(k.math, device);
  rates.beside_host = rates.architecture->launches_overlap;
  rates.sms = std::max(1, device.sm_count);
  rates.clock_ghz = std::max(0.5, device.clock_boost_mhz.value_or(1900) / 1e3);
  rates.per_clock = rates.sms * rates.clock_ghz * 1e3;
  rates.peak_tflops = data_sheet_tflops(device, k.math);
  const double share = attention                                        ? kAttentionShare
                       : is_convolution(k.kernel_class) && rates.tensor ? kConvShare
                       : !rates.tensor                                  ? c.plain_share
                                                                        : c.tensor_share;
  rates.tile_flops = rates.peak_tflops * share * (is_graphics_card(device) ? c.graphics_clock : 1) * 1e6 / rates.sms;
  rates.memory = std::max(1.0, device.memory_bandwidth_gb_per_s) *
                 (product && (rates.beside_host || device.memory_type.starts_with("GDDR7")) ? c.better_memory_share
                                                                                            : c.memory_share) *
                 1e3;
  rates.l2 = std::max(rates.memory, (k.macs > 0 ? c.l2_bytes_per_clock : kStreamedPerClock) * rates.per_clock);
  rates.l2_bytes =
      device.l2_mib.value_or(4) * 1048576 *
      (rates.architecture->l2_partitions > 1 && k.kernel_class != KernelClass::Elementwise ? c.split_l2 : 1);
  if (k.kernel_class == KernelClass::LayerNorm && rates.l2_bytes < kLargeL2Bytes) rates.memory *= kTwiceReadShare;
  if (is_reducing(k)) rates.memory = std::min(rates.memory, kReducingPerClock * rates.per_clock);
  rates.launch_scale = (c.known.launch_scale ? rates.architecture->launch_scale : 1) * kUsualGhz / rates.clock_ghz;
  if (attention) {
    time_attention(k, rates, setting.weight_copies, out);
    return out;
  }
  const double activations = activation_bytes(k);
  const double warm_weights = resident_share(setting.weight_copies * k.weight_bytes + activations, rates),
               warm = resident_share(activations, rates);
  out.resident = k.weight_bytes > activations ? warm_weights : warm;
  out.memory_us = transfer_us(k.weight_bytes, warm_weights, rates) + transfer_us(activations, warm, rates);
  out.launch_us = launches_us(k, c.launch_us, rates);
  // What runs neither beside arithmetic nor beside memory.
  const double beside_us =
      product ? time_product(k, device, setting, rates, out) : time_streaming(k, device, rates, out);
  out.total_us = with_launches(slower_of(out.compute_us, out.memory_us, rates) + beside_us, out, rates);
  return out;
}

KernelTerms terms_of(const KernelPhysics& p, const ProductConstants& constants) {
  KernelTerms terms;
  terms.launch = std::min(p.launch_us, p.total_us);
  const double on_device = p.total_us - terms.launch;
  if (p.compute_us < p.memory_us) {
    terms.memory = on_device;
    return terms;
  }
  const double last_wave = p.waves > 0 ? (std::ceil(p.waves) - p.waves) / std::ceil(p.waves) : 0;
  terms.waves = on_device * last_wave * constants.idle_in_last;
  terms.compute = on_device - terms.waves;
  return terms;
}

}  // namespace forerun
