#include "features/kernel_physics.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "features/kernel_facts.hpp"

namespace forerun {
namespace {

// Shares of the data sheet's rates that good kernels reach.
constexpr double kTensorShare = 0.85, kConvShare = 0.95, kPlainShare = 0.92, kAttentionShare = 0.65, kWinogradShare = 0.5, kMemoryShare = 0.85;
constexpr double kGraphicsClock = 1.1;       // graphics cards run faster than their data sheet's boost clock
constexpr double kBetterMemoryShare = 0.94;  // operands of products from GDDR7, and on Intel's cards
constexpr double kElementShare = 0.12;     // of plain fp32: element-wise arithmetic
// Norms, softmax and reductions, whose threads wait for each other: bytes per clock and multiprocessor. Layer norms read their rows twice,
// the second time from L2 where it is large.
constexpr double kReducingPerClock = 7.8, kTwiceReadShare = 0.65, kLargeL2Bytes = 32 * 1048576.0;
constexpr double kL2BytesPerClock = 24, kStreamedPerClock = 27;  // of one multiprocessor; where every byte is read once
// Cycles of a multiprocessor for one result of a window, and for each of its elements: pooling, depthwise convolutions (PyTorch's own and
// cuDNN's). For a row of a layer norm, and a plane of a batch norm and each of its elements; a block takes one.
constexpr double kPoolCycles = 2.1, kPoolAreaCycles = 0.22, kDepthwiseCycles = 1.4, kDepthwiseAreaCycles = 0.12, kCudnnDepthwiseAreaCycles = 0.075;
constexpr double kRowCycles = 300, kPlaneCycles = 120, kPlaneElementCycles = 0.33;
constexpr double kSharpness = 2.5;         // how sharply the slower of arithmetic and memory decides
constexpr double kUsualGhz = 1.9;
constexpr double kLaunchUs = 2.8, kAttentionLaunchUs = 3.5, kWindowLaunchUs = 2.1, kElementLaunchUs = 1.4;  // at the usual clock
constexpr double kHalfNormUs = 3.5;        // more for batch norms in 16 bits, whose statistics are converted
constexpr double kBlackwellLaunch = 0.75;  // data-centre Blackwell's against the others'
constexpr double kStepGapUs = 1.7;         // more between the kernels of an eager step than inside a CUDA graph, at the usual clock
constexpr double kIntelLaunchUs = 32;      // its host's part, while kernels before it run
constexpr double kTensorFill = 96, kConvFill = 32, kPlainFill = 6;  // filling and draining a tile, as steps of depth
// Tensor cores wait while a tile's operands arrive and its results leave: at least this between one tile and the next, at the usual
// clock, and this more for 128 x 128 results. Data-centre Blackwell keeps results in a memory of their own and goes on.
constexpr double kTileUs = 0.5, kTileOf16384Us = 1;
constexpr double kStageBytes = 128, kStageUs = 0.08;  // a row of operands that tensor cores wait for at once; at the usual clock
constexpr double kTf32StartUs = 1.4;  // before the first step, at the usual clock
// At most so many operations a clock and multiprocessor, over an operand's bytes: convolutions are of Ampere's kind everywhere, and products
// whose rows do not start at whole 16 bytes fetch them in small pieces.
constexpr double kConvPerClock = 4096, kUnalignedPerClock = 1400;
constexpr double kFewHalfRows = 4, kSerialCycles = 9;  // 16-bit products of few rows, rows of results off whole 32 bytes: a step of depth follows the other
constexpr double kManyLanes = 100;  // of a multiprocessor: every issue slot can be a multiplication, and loads take some of them
constexpr double kPlainBlocks = 4, kPlainRoundUs = 1.5;  // blocks side by side on a multiprocessor; starting them, at 1 GHz
constexpr double kLastWave = 0.5;          // of a wave: what the end of a long grid leaves idle
constexpr double kIdleInLast = 0.6;        // of the multiprocessors that a shorter grid's last wave leaves free: the others run no faster for them
constexpr double kSplitUs = 2.5;           // one more launch to add up a split depth
constexpr double kTensorPiece = 128, kPlainPiece = 512, kMostPieces = 256;  // the least depth that is worth it; no more are made
constexpr double kFewRows = 16;  // products that libraries spread over threads along their depth
// Matrix products on the many lanes of Ampere and later: cycles that a step of depth takes beside its multiplications (in tiles of
// fewer than 2048 results), or in all where up to 4 or 16 rows meet so many columns of a multiprocessor (below the few of them threads are
// left over to share the depth); starting blocks, at 1 GHz.
constexpr double kExposedCycles = 40, kExposedSmall = 24, kCyclesOf4Rows = 8, kCyclesOf16Rows = 20, kFewColumns = 32, kSpareColumns = 6, kWideRoundUs = 0.5;
constexpr double kWidePiece = 4096, kGradientPiece = 128;  // the least depth that is worth a split there; results of gradients are small
// Before Volta every block reads its operands from memory again; deep rows lie far apart there and are read slowly. Chips with GDDR5
// do so for weights beyond what they translate addresses for, but then for all of them.
constexpr double kReachedBytes = 40 * 1048576.0, kReadAgain = 0.7, kDeepRow = 1500, kDeepPower = 0.35;
constexpr double kLayoutPerClock = 5, kLayoutUs = 6;  // to channels-last and back: bytes of a multiprocessor, and launches
constexpr double kConvChannels = 16;       // input channels are filled up to multiples of it on tensor cores
constexpr double kWattsPerTflopsNm = 1.7;  // plain fp32, per nm of the process: below it a card does not keep its clock
constexpr double kWattsPerTensorTflops = 1.2;  // of 16 bits, where operands come from registers
constexpr double kLimitedUs = 1200, kLimitedAtOnce = 0.2;  // in a short loop the limit acts in part, and fully on calls much longer than this
constexpr double kExponentials = 16, kExponentialShare = 0.42;  // per clock and multiprocessor; their share of a score's time

struct Tile {
  double m, n, rate;
};
constexpr Tile kTensorTiles[] = {{256, 128, 1},   {128, 256, 1},  {128, 128, 1},  {128, 64, 0.95}, {64, 128, 0.95}, {64, 64, 0.85}, {32, 128, 0.8},
                                 {128, 32, 0.8},  {64, 32, 0.65}, {32, 64, 0.65}, {32, 32, 0.5},   {16, 64, 0.45},  {64, 16, 0.45}};
constexpr Tile kPlainTiles[] = {{128, 128, 1.05}, {128, 64, 1},   {64, 128, 1},   {64, 64, 0.9}, {32, 128, 0.9},
                                {128, 32, 0.9},   {64, 32, 0.9}, {32, 64, 0.9}, {32, 32, 0.9}};
// Those of cuBLAS' kernels (volta_sgemm_64x32 and so on name the columns first).
constexpr Tile kVoltaBatched[] = {{64, 64, 1}, {128, 32, 0.7}, {32, 128, 0.57}};
constexpr Tile kTuringBatched[] = {{64, 128, 1}, {64, 64, 0.77}, {32, 128, 0.78}};
constexpr Tile kTuringTiles[] = {{128, 128, 1.05}, {64, 128, 0.92}, {64, 64, 0.8}, {32, 128, 0.66}, {128, 32, 0.57}, {32, 32, 0.57}};
constexpr Tile kPascalTiles[] = {{64, 64, 0.9}, {32, 128, 0.9}, {128, 32, 0.9}};
constexpr Tile kPascalBatched[] = {{64, 128, 1}}, kOldBatched[] = {{128, 128, 1.05}};  // rows x columns

// Those in fp16 that PyTorch gives to cuDNN; the others run on kernels of its own.
bool is_cudnn_depthwise(const Kernel& k) {
  const double side = std::sqrt(k.spatial) * k.stride;
  return k.math == Math::Fp16 && k.stage == Stage::Forward && (k.kernel_area == 1 || k.kernel_area == 9 || k.kernel_area == 25) && side >= 7 &&
         (k.stride == 1 || (k.stride == 2 && (k.input_channels >= 512 || (k.input_channels >= 256 && side >= 28))));
}
bool is_window(const Kernel& k) { return k.kernel_class == KernelClass::DepthwiseConv || k.kernel_class == KernelClass::Pool; }
// A batch norm that applies what training found: a block a plane.
bool is_plane_norm(const Kernel& k) { return k.kernel_class == KernelClass::BatchNorm && k.stage == Stage::Forward && !k.in_step && k.spatial > 1; }
bool is_reducing(const Kernel& k) {
  return k.kernel_class == KernelClass::LayerNorm || k.kernel_class == KernelClass::Softmax || k.kernel_class == KernelClass::Reduce ||
         (k.kernel_class == KernelClass::BatchNorm && !is_plane_norm(k));
}

// What the device offers, looked up once a kernel.
struct Rates {
  double sms, clock_ghz;
  double per_clock;           // what one a clock and multiprocessor makes in a µs
  double tile_flops;          // per µs and multiprocessor
  double memory, l2;          // bytes per µs
  double l2_bytes, launch_scale;
  bool beside_host;           // launches take their time while other kernels run
};

double element_bytes(Math math) {
  if (math == Math::Fp64) return 8;
  if (math == Math::Fp32 || math == Math::Tf32Tensor) return 4;
  return math == Math::Fp8Tensor || math == Math::Int8Tensor || math == Math::Int4Tensor ? 1 : 2;
}

bool is_large_blackwell(const Device& device) {
  const double capability = device.compute_capability.value_or(0);
  return capability >= 10 && capability < 11;
}
bool is_graphics_card(const Device& device) {
  const auto named = [&](const char* word) { return device.name.find(word) != std::string::npos; };
  return named("RTX") || named("GTX") || named("TITAN");
}
bool is_rtx_blackwell(const Device& device) { return device.compute_capability.value_or(0) >= 12; }
// Hopper's and data-centre Blackwell's tensor cores read operands from shared memory, the others' from registers, which takes more power.
bool has_register_operands(const Device& device) {
  const double capability = device.compute_capability.value_or(0);
  return (capability >= 8 && capability < 9) || is_rtx_blackwell(device);
}
// The L2 of A100, Hopper and data-centre Blackwell has two halves, and each keeps what its own multiprocessors read.
bool has_split_l2(const Device& device) {
  const double capability = device.compute_capability.value_or(0);
  return capability == 8.0 || capability == 9.0 || is_large_blackwell(device);
}

double slower_of(double a, double b) {
  const double high = std::max({a, b, 1e-9}), low = std::max(0.0, std::min(a, b));
  return high * std::pow(1 + std::pow(low / high, kSharpness), 1 / kSharpness);
}

double launches_us(const Kernel& k, double one_us, const Rates& rates) {
  const double each = rates.beside_host ? kIntelLaunchUs : (one_us + (k.in_step ? kStepGapUs : 0)) * rates.launch_scale;
  return each * std::max(1.0, k.launches);
}
double with_launches(double us, const KernelPhysics& physics, const Rates& rates) { return rates.beside_host ? slower_of(us, physics.launch_us) : us + physics.launch_us; }

// Share of bytes that are still in L2: all while they take three quarters of it, none when they take a little more than all of it.
double resident_share(double bytes, const Rates& rates) { return std::clamp((1.05 - bytes / rates.l2_bytes) / 0.3, 0.0, 1.0); }
double transfer_us(double bytes, double resident, const Rates& rates) { return bytes * (1 - resident) / rates.memory + bytes * resident / rates.l2; }

// What a tile of plain fp32 loses where loads compete with multiplications: small tiles load more.
double issue_share(const Tile& tile) { return tile.m * tile.n >= 8192 ? 0.86 : tile.m * tile.n >= 4096 ? 0.7 : 0.6; }

struct Tiling {
  double us = 1e300, waves = 0;
  double operand_elements = 0;  // read by all tiles together
  double after_us = 0;          // adding up a split depth
  [[nodiscard]] double total_us() const { return us + after_us; }
};
struct Steps {
  bool tensor = false, many_lanes = false;
  bool tiles_overlap = false;  // a tile's results leave while tensor cores compute the next
  double fill = 0;             // filling and draining a tile, as steps of depth
  double gap_us = 0;           // before one more launch
  double us = 0;         // a step of depth waits for memory, however small the tile
  double wide_piece = 0; // least depth of a split for a matrix product on the many lanes of Ampere and later; else 0
};
double step_time_us(const Tile& tile, double tile_flops, const Steps& steps, const Rates& rates) {
  const double results = tile.m * tile.n;
  if (steps.wide_piece > 0) return 2 * results * kPlainShare / tile_flops + (results >= 2048 ? kExposedCycles : kExposedSmall) / (rates.clock_ghz * 1e3);
  return 2 * results / (tile_flops * tile.rate * (steps.many_lanes ? issue_share(tile) : 1));
}
double next_split(double split) { return split < 4 ? split + 1 : std::floor(split * 1.5); }
double partial_waves(double waves) { return kIdleInLast * std::ceil(waves) + (1 - kIdleInLast) * std::max(1.0, waves); }
// Exact below the limit, and no less than it otherwise.
double tensor_tiles_us(const Tile& tile, double waves, double step_us, double depth, const Steps& steps, const Rates& rates, double limit_us) {
  const double one_us = std::max(step_us, steps.us) * depth + step_us * steps.fill;
  if (waves <= 1) return one_us;
  const double between_us = steps.tiles_overlap ? 0 : (kTileUs + kTileOf16384Us * tile.m * tile.n / 16384) * kUsualGhz / rates.clock_ghz;
  const double more = partial_waves(waves) - 1, least_us = one_us + more * std::max(one_us, between_us);
  return least_us >= limit_us ? least_us : one_us + more * slower_of(one_us, between_us);
}
Tiling best_tiling(std::span<const Tile> tiles, double batch, double m, double n, double k, double tile_flops, const Steps& steps, const Rates& rates) {
  Tiling best;
  const bool tensor = steps.tensor;
  const double piece = tensor ? kTensorPiece : steps.wide_piece > 0 ? steps.wide_piece : kPlainPiece;
  for (const Tile& tile : tiles) {
    const double count = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch;
    const double step_us = step_time_us(tile, tile_flops, steps, rates);
    for (double split = 1; split <= kMostPieces && (split == 1 || (k / split >= piece && count * split <= 4 * rates.sms)); split = next_split(split)) {
      const double after_us = split > 1 ? kSplitUs + steps.gap_us + batch * m * n * (split + 1) * 4 / rates.memory : 0;
      if (after_us >= best.total_us()) break;
      const double waves = count * split / rates.sms, depth = k / split;
      double us;
      if (tensor) {
        us = tensor_tiles_us(tile, waves, step_us, depth, steps, rates, best.total_us() - after_us);
      } else {
        const bool wide = steps.wide_piece > 0;
        const double whole = waves > 3 * kPlainBlocks ? waves + kLastWave : wide ? partial_waves(waves) : std::ceil(waves);
        us = whole * step_us * (depth + kPlainFill) + std::ceil(waves / kPlainBlocks) * (wide ? kWideRoundUs : kPlainRoundUs) / rates.clock_ghz;
      }
      if (us + after_us < best.total_us()) best = {us, waves, count * (tile.m + tile.n) * k, after_us};
    }
  }
  return best;
}

// Steps of depth with the channels that a forward convolution's tensor cores multiply in vain.
double filled_depth(const Kernel& k, bool tensor_conv) {
  const double channels = std::max(1.0, k.input_channels / std::max(1.0, k.groups));
  return std::max(1.0, k.k) * (tensor_conv && k.stage == Stage::Forward ? std::ceil(channels / kConvChannels) * kConvChannels / channels : 1);
}

// The tile shapes that the library has for a matrix product.
std::span<const Tile> tiles_of(const Kernel& k, bool tensor, double capability, bool old_library) {
  if (tensor) return kTensorTiles;
  const bool batched = k.kernel_class == KernelClass::BatchedMatMul && k.batch > 1;
  if (capability < 7 && is_matrix_product(k.kernel_class)) return batched ? std::span<const Tile>(kPascalBatched) : kPascalTiles;
  if (batched && capability < 7.5) return kVoltaBatched;
  if (capability < 8 && capability >= 7.5 && is_matrix_product(k.kernel_class)) return batched ? std::span<const Tile>(kTuringBatched) : kTuringTiles;
  if (batched && old_library) return kOldBatched;
  return kPlainTiles;
}

// Whether rows of its operands or results start anywhere but at whole 16 bytes.
bool is_unaligned(const Kernel& k) {
  const double row = 16 / element_bytes(k.math);
  return k.n > 1 && k.k > 1 && (std::fmod(k.n, row) != 0 || std::fmod(k.k, row) != 0);
}
double stage_step_us(const Kernel& k, const Rates& rates) { return element_bytes(k.math) / kStageBytes * kStageUs * kUsualGhz / rates.clock_ghz; }

double read_again_us(double batch, double m, double n, double depth, double operand_elements, bool gddr, const Rates& rates) {
  const double panels = 4 * (m + n) * depth, again = std::max(0.0, 4 * operand_elements - batch * panels);
  const double missed = std::clamp(panels / rates.l2_bytes - 0.5, 0.0, 1.0) * (!gddr ? kReadAgain : 4 * n * depth > kReachedBytes ? 1 : 0) * again;
  return missed / (rates.memory * std::pow(std::min(1.0, kDeepRow / depth), kDeepPower));
}

// How much slower arithmetic that takes these watts runs for want of power. No card falls below its base clock.
double power_slowdown(const Device& device, double watts) {
  if (device.power_limit_w <= 0) return 1;
  double slower = watts / device.power_limit_w;
  if (device.clock_base_mhz && device.clock_boost_mhz) slower = std::min(slower, *device.clock_boost_mhz / *device.clock_base_mhz);
  return std::max(1.0, slower);
}

void time_attention(const Kernel& k, const Device& device, const Rates& rates, double copies, KernelPhysics& out) {
  constexpr double kRows = 128, kFewestRows = 64, kCachePiece = 512, kStartKeys = 32, kBlockUs = 2.0, kPieceUs = 1.4;
  const double bytes = k.read_bytes + k.write_bytes, element = element_bytes(k.math);
  const double units = kExponentials * (device.compute_capability.value_or(0) == 10.3 ? 2 : 1);  // Blackwell Ultra has twice as many
  const double score_us = 4 * k.k / rates.tile_flops + kExponentialShare / (units * rates.clock_ghz * 1e3);
  const bool decode = k.m <= 1;
  out.resident = std::clamp((1.3 - bytes * (decode ? copies : 1) / rates.l2_bytes) / 0.6, 0.0, 1.0);
  out.memory_us = transfer_us(bytes, out.resident, rates);
  out.key_heads = std::clamp((k.read_bytes - k.write_bytes) / std::max(1.0, 2 * k.n * k.k * element), 1.0, std::max(1.0, k.batch));
  const double plain_flops = 4 * k.batch * k.m * k.n * k.k;
  const double more = plain_flops > 0 ? std::max(1.0, k.flops / plain_flops) : 1;  // gradients
  if (decode) {
    out.waves = out.key_heads * std::ceil(k.n / kCachePiece) / rates.sms;
    out.compute_us = more * std::max(out.waves, 1.0) *
                     (kPieceUs + std::min(k.n, kCachePiece) * kFewestRows * score_us * std::ceil(k.batch / out.key_heads / kFewestRows));
  } else {
    out.waves = std::ceil(k.m / kRows) * k.batch / rates.sms;
    const double rows = std::clamp(k.m, kFewestRows, kRows);
    const double keys = k.causal ? 0.5 * (k.n + std::min(kRows, k.n)) : k.n;
    out.compute_us = more * std::max(out.waves * (rows * (keys + kStartKeys) * score_us + kBlockUs), rows * (k.n + kStartKeys) * score_us + kBlockUs);
  }
  out.launch_us = launches_us(k, kAttentionLaunchUs, rates);
  out.total_us = with_launches(slower_of(out.compute_us, out.memory_us), out, rates);
}

// 36 small products for every 4 x 4 results, and passes over the transformed tensors; taken where it is faster.
void try_winograd(const Kernel& k, const Rates& rates, KernelPhysics& out) {
  const double side = std::ceil(std::sqrt(k.spatial) / 4);
  const double tiles = std::max(1.0, side * side * k.m / k.spatial);
  const Tiling tiling = best_tiling(kPlainTiles, 36, tiles, std::max(1.0, k.output_channels), std::max(1.0, k.input_channels), rates.tile_flops * kWinogradShare, {}, rates);
  const double transformed = 36 * 4 * (tiles * (k.input_channels + k.output_channels) + k.input_channels * k.output_channels);
  const double memory_us = out.memory_us + 0.5 * transfer_us(transformed, resident_share(transformed, rates), rates);
  if (slower_of(tiling.total_us(), memory_us) + 2 * out.launch_us >= slower_of(out.compute_us, out.memory_us)) return;
  out.compute_us = tiling.total_us();
  out.memory_us = memory_us;
  out.waves = tiling.waves;
  out.winograd = true;
}

// Everything but products. Returns what runs neither beside arithmetic nor beside memory.
double time_streaming(const Kernel& k, const Device& device, const Rates& rates, KernelPhysics& out) {
  double beside_us = 0;
  const double cycle_us = 1 / rates.per_clock, area = std::max(1.0, k.kernel_area);
  const bool quick = k.kernel_class == KernelClass::Elementwise || k.kernel_class == KernelClass::Embedding || is_plane_norm(k);
  out.launch_us = launches_us(k, quick ? kElementLaunchUs : is_window(k) ? kWindowLaunchUs : kLaunchUs, rates);
  if (k.kernel_class == KernelClass::Pool) {
    out.compute_us = k.output_elements * (kPoolCycles + kPoolAreaCycles * area) * cycle_us;
  } else if (k.kernel_class == KernelClass::DepthwiseConv) {
    const double cycles = is_cudnn_depthwise(k) ? kCudnnDepthwiseAreaCycles * area : kDepthwiseCycles + kDepthwiseAreaCycles * area;
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

KernelPhysics kernel_physics(const Kernel& k, const Device& device, const KernelSetting& setting) {
  KernelPhysics out;
  const bool tensor = on_tensor_cores(k.math, device);
  const bool conv = k.kernel_class == KernelClass::Conv || k.kernel_class == KernelClass::ConvTranspose;
  const bool product = k.m > 0 && k.macs > 0 && k.kernel_class != KernelClass::DepthwiseConv;
  const bool attention = product && k.kernel_class == KernelClass::Attention;
  const double peak = data_sheet_tflops(device, k.math);
  const double share = attention ? kAttentionShare : conv && tensor ? kConvShare : !tensor ? kPlainShare : kTensorShare;
  Rates rates{};
  rates.beside_host = device.maker == "Intel";
  rates.sms = std::max(1, device.sm_count);
  rates.clock_ghz = std::max(0.5, device.clock_boost_mhz.value_or(1900) / 1e3);
  rates.per_clock = rates.sms * rates.clock_ghz * 1e3;
  rates.tile_flops = peak * share * (is_graphics_card(device) ? kGraphicsClock : 1) * 1e6 / rates.sms;
  rates.memory = std::max(1.0, device.memory_bandwidth_gb_per_s) * (product && (rates.beside_host || is_rtx_blackwell(device)) ? kBetterMemoryShare : kMemoryShare) * 1e3;
  rates.l2 = std::max(rates.memory, (k.macs > 0 ? kL2BytesPerClock : kStreamedPerClock) * rates.per_clock);
  rates.l2_bytes = device.l2_mib.value_or(4) * 1048576 * (has_split_l2(device) && k.kernel_class != KernelClass::Elementwise ? 0.5 : 1);
  if (k.kernel_class == KernelClass::LayerNorm && rates.l2_bytes < kLargeL2Bytes) rates.memory *= kTwiceReadShare;
  if (is_reducing(k)) rates.memory = std::min(rates.memory, kReducingPerClock * rates.per_clock);
  rates.launch_scale = (is_large_blackwell(device) ? kBlackwellLaunch : 1) * kUsualGhz / rates.clock_ghz;
  if (attention) {
    time_attention(k, device, rates, setting.weight_copies, out);
    return out;
  }
  const double activations = std::max(0.0, k.read_bytes - k.weight_bytes) + k.write_bytes;
  const double warm_weights = resident_share(setting.weight_copies * k.weight_bytes + activations, rates), warm = resident_share(activations, rates);
  out.resident = k.weight_bytes > activations ? warm_weights : warm;
  out.memory_us = transfer_us(k.weight_bytes, warm_weights, rates) + transfer_us(activations, warm, rates);
  out.launch_us = launches_us(k, kLaunchUs, rates);
  double beside_us = 0;  // what runs neither beside arithmetic nor beside memory
  if (product) {
    const double m = std::max(1.0, k.m), n = std::max(1.0, k.n), batch = std::max(1.0, k.batch);
    if (tensor && (conv || is_unaligned(k))) {
      rates.tile_flops = std::min(rates.tile_flops, (conv ? kConvPerClock * kConvShare : kUnalignedPerClock) / element_bytes(k.math) * rates.clock_ghz * 1e3);
    }
    const double depth = filled_depth(k, conv && tensor), capability = device.maker == "NVIDIA" ? device.compute_capability.value_or(9) : 9;
    const bool many_lanes = !tensor && peak * 1e3 > 2 * kManyLanes * rates.sms * rates.clock_ghz;
    const bool wide = many_lanes && is_matrix_product(k.kernel_class) && device.maker == "NVIDIA" && capability >= 8;
    const Steps steps{.tensor = tensor,
                      .many_lanes = many_lanes,
                      .tiles_overlap = is_large_blackwell(device),
                      .fill = conv ? kConvFill : kTensorFill,
                      .gap_us = k.in_step && tensor ? kStepGapUs : 0,
                      .us = conv || !tensor ? 0 : stage_step_us(k, rates),
                      .wide_piece = !wide ? 0 : k.stage == Stage::Forward ? kWidePiece : kGradientPiece};
    const Tiling tiling = best_tiling(tiles_of(k, tensor, capability, setting.old_library), batch, m, n, depth, rates.tile_flops, steps, rates);
    out.waves = tiling.waves;
    const bool vector = std::min(m, n) <= 1, few_rows = wide && m <= kFewRows;
    out.compute_us = vector ? k.flops / (peak * 5e5) : tiling.us;
    if (!vector && !few_rows) beside_us = tiling.after_us;
    if (few_rows && m > 1) {
      const double columns = n * batch / rates.sms;  // of a multiprocessor
      out.compute_us = depth * (m <= 4 ? kCyclesOf4Rows : kCyclesOf16Rows) / (rates.clock_ghz * 1e3) * std::ceil(columns / kFewColumns) * std::min(1.0, columns / kSpareColumns);
    } else if (wide) {
      beside_us += transfer_us(k.write_bytes, warm, rates);  // results are written when a tile is done
    }
    if (tensor && !conv && batch <= 1 && m <= kFewHalfRows && element_bytes(k.math) == 2 && std::fmod(n, 16) == 8) {
      out.compute_us = std::max(out.compute_us, depth * kSerialCycles / (rates.clock_ghz * 1e3));
    }
    if (tensor && k.math == Math::Tf32Tensor && is_matrix_product(k.kernel_class) && !vector) beside_us += kTf32StartUs * kUsualGhz / rates.clock_ghz;
    if (!tensor && capability < 7 && is_matrix_product(k.kernel_class)) out.memory_us += read_again_us(batch, m, n, depth, tiling.operand_elements, capability > 6, rates);
    if (conv && !tensor && k.stage == Stage::Forward && k.kernel_area == 9 && k.stride == 1 && k.groups == 1 && k.spatial > 0) try_winograd(k, rates, out);
    if (!tensor && element_bytes(k.math) == 4) {
      const double limited = setting.few_calls ? kLimitedAtOnce + (1 - kLimitedAtOnce) * out.compute_us / (out.compute_us + kLimitedUs) : 1;
      out.compute_us *= std::pow(power_slowdown(device, peak * process_nm(device) * kWattsPerTflopsNm), limited);
    }
    if (tensor && has_register_operands(device)) {
      out.compute_us *= power_slowdown(device, data_sheet_tflops(device, Math::Bf16Tensor) * kWattsPerTensorTflops);
    }
    const bool planes = k.kernel_area == 1 && k.stride == 1 && k.groups == 1 && (std::fmod(k.spatial, 8) == 0 || k.spatial <= 1);
    if (conv && tensor && !planes) beside_us += std::max(transfer_us(activations, warm, rates), activations / (kLayoutPerClock * rates.per_clock)) + kLayoutUs;
  } else {
    beside_us = time_streaming(k, device, rates, out);
  }
  out.total_us = with_launches(slower_of(out.compute_us, out.memory_us) + beside_us, out, rates);
  return out;
}

}  // namespace forerun
