// Products by the tiles that libraries cut them into: waves of tiles, steps of depth, what a tile waits for.
#include <array>
#include <span>

#include "features/kernel_facts.hpp"
#include "features/physics_rates.hpp"

namespace forerun {
namespace {

constexpr double kStageBytes = 128;                // a row of operands that tensor cores wait for at once
constexpr double kFewHalfRows = 4, kFewRows = 16;  // products that libraries spread over threads along their depth
constexpr double kManyLanes =
    100;  // of a multiprocessor: every issue slot can be a multiplication, and loads take some of them
constexpr double kMostPieces = 256;  // of a split depth
constexpr double kWinogradShare = 0.5;
constexpr double kConvPerClock = 4096;  // operations a clock and multiprocessor, over an operand's bytes: convolutions
                                        // are of Ampere's kind everywhere
constexpr double kConvFill = 32;        // filling and draining a convolution's tile, as steps of depth
constexpr double kConvChannels = 16;    // input channels are filled up to multiples of it on tensor cores
constexpr double kLayoutPerClock = 5,
                 kLayoutUs = 6;  // to channels-last and back: bytes of a multiprocessor, and launches

bool has_many_lanes(const Rates& rates) {
  return !rates.tensor && rates.peak_tflops * 1e3 > 2 * kManyLanes * rates.sms * rates.clock_ghz;
}
const std::array<double, 3>* issue_share(const Rates& rates) {
  if (!has_many_lanes(rates)) return nullptr;
  return rates.architecture->plain_gemm == PlainGemm::Pascal ? &rates.constants->pascal_issue_share
                                                             : &rates.constants->issue_share;
}

struct Tiling {
  double us = 1e300, waves = 0;
  double operand_elements = 0;  // read by all tiles together
  double after_us = 0;          // adding up a split depth
  [[nodiscard]] double total_us() const { return us + after_us; }
};
struct Steps {
  bool tensor = false;
  const std::array<double, 3>* issue_share = nullptr;  // where loads and multiplications take turns
  bool tiles_overlap = false;                          // a tile's results leave while tensor cores compute the next
  double fill = 0;                                     // filling and draining a tile, as steps of depth
  double gap_us = 0;                                   // before one more launch
  double us = 0;                                       // a step of depth waits for memory, however small the tile
  double wide_piece = 0;  // least depth of a split for a matrix product on the many lanes of Ampere and later; else 0
};

double step_time_us(const Tile& tile, const Steps& steps, const Rates& rates) {
  const ProductConstants& c = *rates.constants;
  const double results = tile.m * tile.n;
  if (steps.wide_piece > 0)
    return 2 * results * c.plain_share / rates.tile_flops +
           rates.cycles_us(results >= 2048 ? c.exposed_cycles : c.exposed_small);
  const double issued = steps.issue_share == nullptr ? 1
                                                     : (*steps.issue_share)[results >= 8192   ? 0
                                                                            : results >= 4096 ? 1
                                                                                              : 2];
  return 2 * results / (rates.tile_flops * tile.rate * issued);
}
double next_split(double split) { return split < 4 ? split + 1 : std::floor(split * 1.5); }
double partial_waves(double waves, const Rates& rates) {
  const double idle = rates.constants->idle_in_last;
  return idle * std::ceil(waves) + (1 - idle) * std::max(1.0, waves);
}
// Exact below the limit, and no less than it otherwise.
double tensor_tiles_us(const Tile& tile, double waves, double step_us, double depth, const Steps& steps,
                       const Rates& rates, double limit_us) {
  const double one_us = std::max(step_us, steps.us) * depth + step_us * steps.fill;
  if (waves <= 1) return one_us;
  const double results_us = rates.constants->tile_us + rates.constants->tile_of_16384_us * tile.m * tile.n / 16384;
  const double between_us = steps.tiles_overlap ? 0 : results_us * kUsualGhz / rates.clock_ghz;
  const double more = partial_waves(waves, rates) - 1, least_us = one_us + more * std::max(one_us, between_us);
  return least_us >= limit_us ? least_us : one_us + more * slower_of(one_us, between_us, rates);
}
double plain_tiles_us(double waves, double step_us, double depth, const Steps& steps, const Rates& rates) {
  const ProductConstants& c = *rates.constants;
  const bool wide = steps.wide_piece > 0;
  const double whole = waves > 3 * c.plain_blocks ? waves + c.last_wave
                       : wide                     ? partial_waves(waves, rates)
                                                  : std::ceil(waves);
  return whole * step_us * (depth + c.plain_fill) +
         std::ceil(waves / c.plain_blocks) * (wide ? c.wide_round_us : c.plain_round_us) / rates.clock_ghz;
}
Tiling best_tiling(std::span<const Tile> tiles, double batch, double m, double n, double k, const Steps& steps,
                   const Rates& rates) {
  const ProductConstants& c = *rates.constants;
  const double piece = steps.tensor ? c.tensor_piece : steps.wide_piece > 0 ? steps.wide_piece : c.plain_piece;
  Tiling best;
  for (const Tile& tile : tiles) {
    const double count = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch;
    const double step_us = step_time_us(tile, steps, rates);
    for (double split = 1;
         split <= kMostPieces && (split == 1 || (k / split >= piece && count * split <= 4 * rates.sms));
         split = next_split(split)) {
      const double after_us =
          split > 1 ? c.split_us + steps.gap_us + batch * m * n * (split + 1) * 4 / rates.memory : 0;
      if (after_us >= best.total_us()) break;
      const double waves = count * split / rates.sms, depth = k / split;
      const double us = steps.tensor
                            ? tensor_tiles_us(tile, waves, step_us, depth, steps, rates, best.total_us() - after_us)
                            : plain_tiles_us(waves, step_us, depth, steps, rates);
      if (us + after_us < best.total_us()) best = {us, waves, count * (tile.m + tile.n) * k, after_us};
    }
  }
  return best;
}

// The tile shapes that the library has for a matrix product; those of the nearest generation where nothing is known of
// its own.
std::span<const Tile> tiles_of(const Kernel& k, bool old_library, const Rates& rates) {
  const ProductConstants& c = *rates.constants;
  if (rates.tensor) return c.tensor_tiles;
  if (!is_matrix_product(k.kernel_class)) return c.plain_tiles;
  const PlainGemm gemm = rates.architecture->plain_gemm;
  const bool batched = k.kernel_class == KernelClass::BatchedMatMul && k.batch > 1;
  const std::span<const Tile> volta = c.volta_batched, turing = c.turing_batched;
  if (gemm == PlainGemm::Pascal && c.known.pascal)
    return batched ? std::span<const Tile>(c.pascal_batched) : c.pascal_tiles;
  if (gemm <= PlainGemm::Volta && batched && (c.known.volta || c.known.turing)) return c.known.volta ? volta : turing;
  if (gemm <= PlainGemm::Turing && batched && (c.known.volta || c.known.turing)) return c.known.turing ? turing : volta;
  if (gemm == PlainGemm::Turing && c.known.turing) return c.turing_tiles;
  if (batched && old_library && c.known.old_ampere) return c.old_batched;
  if (batched && old_library && c.known.turing) return turing;
  return c.plain_tiles;
}

// Whether rows of its operands or results start anywhere but at whole 16 bytes.
bool is_unaligned(const Kernel& k) {
  const double row = 16 / element_bytes(k.math);
  return k.n > 1 && k.k > 1 && (std::fmod(k.n, row) != 0 || std::fmod(k.k, row) != 0);
}
double stage_step_us(const Kernel& k, const Rates& rates) {
  return element_bytes(k.math) / kStageBytes * rates.constants->stage_us * kUsualGhz / rates.clock_ghz;
}

double read_again_us(double batch, double m, double n, double depth, double operand_elements, bool gddr,
                     const Rates& rates) {
  const ProductConstants& c = *rates.constants;
  const double panels = 4 * (m + n) * depth, again = std::max(0.0, 4 * operand_elements - batch * panels);
  const double missed = std::clamp(panels / rates.l2_bytes - 0.5, 0.0, 1.0) *
                        (!gddr                                     ? c.read_again
                         : 4 * n * depth > c.reached_mib * 1048576 ? 1
                                                                   : 0) *
                        again;
  return missed / (rates.memory * std::pow(std::min(1.0, c.deep_row / depth), c.deep_power));
}

// How much slower arithmetic that takes these watts runs for want of power. No card falls below its base clock.
double power_slowdown(const Device& device, double watts) {
  if (device.power_limit_w <= 0) return 1;
  double slower = watts / device.power_limit_w;
  if (device.clock_base_mhz && device.clock_boost_mhz)
    slower = std::min(slower, *device.clock_boost_mhz / *device.clock_base_mhz);
  return std::max(1.0, slower);
}
// The arithmetic's time at the clock that the card's power allows.
double powered_us(const Kernel& k, const Device& device, const KernelSetting& setting, const Rates& rates, double us) {
  const ProductConstants& c = *rates.constants;
  if (rates.tensor)
    return rates.architecture->tensor_operands == TensorOperands::Registers
               ? us * power_slowdown(device, data_sheet_tflops(device, Math::Bf16Tensor) * c.tensor_watts)
               : us;
  if (element_bytes(k.math) != 4) return us;
  const double limited = setting.few_calls ? c.limited_at_once + (1 - c.limited_at_once) * us / (us + c.limited_us) : 1;
  return us *
         std::pow(power_slowdown(device, rates.peak_tflops * rates.architecture->process_nm * c.plain_watts), limited);
}

double vector_us(const Kernel& k, const Rates& rates) { return k.flops / (rates.peak_tflops * 5e5); }

double time_matrix_product(const Kernel& k, const Device& device, const KernelSetting& setting, Rates& rates,
                           KernelPhysics& out) {
  const ProductConstants& c = *rates.constants;
  const double m = std::max(1.0, k.m), n = std::max(1.0, k.n), batch = std::max(1.0, k.batch),
               depth = std::max(1.0, k.k);
  const PlainGemm gemm = rates.architecture->plain_gemm;
  const bool plain_matrix = !rates.tensor && is_matrix_product(k.kernel_class);
  if (rates.tensor && is_unaligned(k))
    rates.tile_flops =
        std::min(rates.tile_flops, c.unaligned_per_clock / element_bytes(k.math) * rates.clock_ghz * 1e3);
  const bool wide = plain_matrix && has_many_lanes(rates) && device.maker == "NVIDIA" && gemm == PlainGemm::Ampere &&
                    c.known.many_lanes;
  const Steps steps{.tensor = rates.tensor,
                    .issue_share = issue_share(rates),
                    .tiles_overlap = rates.architecture->tensor_operands == TensorOperands::TensorMemory,
                    .fill = c.tensor_fill,
                    .gap_us = k.in_step && rates.tensor ? c.step_gap_us : 0,
                    .us = rates.tensor ? stage_step_us(k, rates) : 0,
                    .wide_piece = !wide                       ? 0
                                  : k.stage == Stage::Forward ? c.wide_piece
                                                              : c.gradient_piece};
  const Tiling tiling = best_tiling(tiles_of(k, setting.old_library, rates), batch, m, n, depth, steps, rates);
  out.waves = tiling.waves;
  const bool vector = std::min(m, n) <= 1, few_rows = wide && m <= kFewRows;
  out.compute_us = vector ? vector_us(k, rates) : tiling.us;
  double beside_us = vector || few_rows ? 0 : tiling.after_us;
  if (few_rows && m > 1) {
    const double columns = n * batch / rates.sms;  // of a multiprocessor
    out.compute_us = rates.cycles_us(depth * (m <= 4 ? c.cycles_of_4_rows : c.cycles_of_16_rows)) *
                     std::ceil(columns / c.few_columns) * std::min(1.0, columns / c.spare_columns);
  } else if (wide) {
    beside_us += transfer_us(k.write_bytes, resident_share(activation_bytes(k), rates),
                             rates);  // results are written when a tile is done
  }
  if (rates.tensor && batch <= 1 && m <= kFewHalfRows && element_bytes(k.math) == 2 && std::fmod(n, 16) == 8) {
    out.compute_us = std::max(out.compute_us, rates.cycles_us(depth * c.serial_cycles));
  }
  if (rates.tensor && k.math == Math::Tf32Tensor && is_matrix_product(k.kernel_class) && !vector)
    beside_us += c.tf32_start_us * kUsualGhz / rates.clock_ghz;
  if (plain_matrix && gemm == PlainGemm::Pascal)
    out.memory_us +=
        read_again_us(batch, m, n, depth, tiling.operand_elements, device.memory_type.starts_with("GDDR"), rates);
  return beside_us;
}

// 36 small products for every 4 x 4 results, and passes over the transformed tensors; taken where it is faster.
void try_winograd(const Kernel& k, Rates rates, KernelPhysics& out) {
  const double side = std::ceil(std::sqrt(k.spatial) / 4);
  const double tiles = std::max(1.0, side * side * k.m / k.spatial);
  rates.tile_flops *= kWinogradShare;
  const Tiling tiling = best_tiling(rates.constants->plain_tiles, 36, tiles, std::max(1.0, k.output_channels),
                                    std::max(1.0, k.input_channels), {}, rates);
  const double transformed =
      36 * 4 * (tiles * (k.input_channels + k.output_channels) + k.input_channels * k.output_channels);
  const double memory_us = out.memory_us + 0.5 * transfer_us(transformed, resident_share(transformed, rates), rates);
  if (slower_of(tiling.total_us(), memory_us, rates) + 2 * out.launch_us >=
      slower_of(out.compute_us, out.memory_us, rates))
    return;
  out.compute_us = tiling.total_us();
  out.memory_us = memory_us;
  out.waves = tiling.waves;
  out.winograd = true;
}

double time_convolution(const Kernel& k, Rates& rates, KernelPhysics& out) {
  const ProductConstants& c = *rates.constants;
  const bool forward = k.stage == Stage::Forward;
  double depth = std::max(1.0, k.k);
  if (rates.tensor) {
    rates.tile_flops =
        std::min(rates.tile_flops, kConvPerClock * kConvShare / element_bytes(k.math) * rates.clock_ghz * 1e3);
    const double channels = std::max(1.0, k.input_channels / std::max(1.0, k.groups));
    if (forward)
      depth *= std::ceil(channels / kConvChannels) * kConvChannels / channels;  // some are multiplied in vain
  }
  const Steps steps{.tensor = rates.tensor,
                    .issue_share = issue_share(rates),
                    .tiles_overlap = rates.architecture->tensor_operands == TensorOperands::TensorMemory,
                    .fill = kConvFill,
                    .gap_us = k.in_step && rates.tensor ? c.step_gap_us : 0};
  const double m = std::max(1.0, k.m), n = std::max(1.0, k.n);
  const Tiling tiling = best_tiling(rates.tensor ? std::span<const Tile>(c.tensor_tiles) : c.plain_tiles,
                                    std::max(1.0, k.batch), m, n, depth, steps, rates);
  const bool vector = std::min(m, n) <= 1;
  out.waves = tiling.waves;
  out.compute_us = vector ? vector_us(k, rates) : tiling.us;
  double beside_us = vector ? 0 : tiling.after_us;
  if (!rates.tensor && forward && k.kernel_area == 9 && k.stride == 1 && k.groups == 1 && k.spatial > 0)
    try_winograd(k, rates, out);
  const bool planes =
      k.kernel_area == 1 && k.stride == 1 && k.groups == 1 && (std::fmod(k.spatial, 8) == 0 || k.spatial <= 1);
  if (rates.tensor && !planes) {
    const double bytes = activation_bytes(k);
    beside_us +=
        std::max(transfer_us(bytes, resident_share(bytes, rates), rates), bytes / (kLayoutPerClock * rates.per_clock)) +
        kLayoutUs;
  }
  return beside_us;
}

}  // namespace

double time_product(const Kernel& k, const Device& device, const KernelSetting& setting, Rates rates,
                    KernelPhysics& out) {
  const double beside_us = is_convolution(k.kernel_class) ? time_convolution(k, rates, out)
                                                          : time_matrix_product(k, device, setting, rates, out);
  out.compute_us = powered_us(k, device, setting, rates, out.compute_us);
  return beside_us;
}

}  // namespace forerun
