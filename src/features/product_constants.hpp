// What the physical times of products rest on beside the data sheet: how libraries tile, what a step, a wave or a
// launch costs. One value each for all devices, or for those of a named kind. Those that ship are round figures, set by
// hand with all sweeps in view; lab/training/products/product_fit.hpp finds others, without a device.
#pragma once

#include <array>

namespace forerun {

struct Tile {
  double m, n;  // rows and columns of results
  double rate;  // share of the device's pace that such tiles reach
};

struct ProductConstants {
  // Shares of the data sheet's rates that good kernels reach. The better memory is GDDR7, and any on Intel's cards.
  double tensor_share = 0.85, plain_share = 0.92, memory_share = 0.85, better_memory_share = 0.94;
  double graphics_clock = 1.1;     // graphics cards against their data sheet's boost clock
  double l2_bytes_per_clock = 24;  // of one multiprocessor
  double split_l2 = 0.5;           // of an L2 of two halves, each of which keeps what its own multiprocessors read
  double sharpness = 2.5;          // how sharply the slower of arithmetic and memory decides

  // In µs at the usual clock. Intel's host takes longer, but while kernels before it run.
  double launch_us = 2.8, intel_launch_us = 32;
  double step_gap_us = 1.7;  // more between the kernels of an eager step than inside a CUDA graph

  // Tensor cores.
  double tensor_fill = 96;  // filling and draining a tile, as steps of depth
  // They wait while a tile's operands arrive and its results leave: at least this between one tile and the next, at the
  // usual clock, and this more for 128 x 128 results. Data-centre Blackwell keeps results in a memory of their own and
  // goes on.
  double tile_us = 0.5, tile_of_16384_us = 1;
  double stage_us = 0.08;             // 128 bytes of depth are waited for at once; at the usual clock
  double tf32_start_us = 1.4;         // before the first step, at the usual clock
  double unaligned_per_clock = 1400;  // operations a clock and multiprocessor, over an operand's bytes, where rows do
                                      // not start at whole 16 bytes
  double serial_cycles = 9;  // of a step of depth with few rows of 16 bits whose results do not start at whole 32 bytes
  double idle_in_last =
      0.6;  // of the multiprocessors that a grid's last wave leaves free: the others run no faster for them
  double split_us = 2.5;      // one more launch to add up a split depth
  double tensor_piece = 128;  // the least depth that is worth it

  // Plain fp32.
  double plain_fill = 6;
  double plain_blocks = 4, plain_round_us = 1.5;  // blocks side by side on a multiprocessor; starting them, at 1 GHz
  double last_wave = 0.5;                         // of a wave: what the end of a long grid leaves idle
  double plain_piece = 512;
  // Where every issue slot can be a multiplication, loads take some of them: what is left in tiles of 8192 results,
  // 4096, fewer.
  std::array<double, 3> issue_share = {0.86, 0.7, 0.6}, pascal_issue_share = {0.86, 0.7, 0.6};
  // Matrix products on the many lanes of Ampere and later: cycles that a step of depth takes beside its multiplications
  // (in tiles of fewer than 2048 results), or in all where up to 4 or 16 rows meet so many columns of a multiprocessor
  // (below the few of them threads are left over to share the depth); starting blocks, at 1 GHz; the least depth that
  // is worth a split, results of gradients are small.
  double exposed_cycles = 40, exposed_small = 24, cycles_of_4_rows = 8, cycles_of_16_rows = 20, few_columns = 32,
         spare_columns = 6, wide_round_us = 0.5;
  double wide_piece = 4096, gradient_piece = 128;
  // Before Volta every block reads its operands from memory again; deep rows lie far apart there and are read slowly.
  // Chips with GDDR5 do so for weights beyond what they translate addresses for, but then for all of them.
  double read_again = 0.7, deep_row = 1500, deep_power = 0.35, reached_mib = 40;

  // Power: below so many watts a card does not keep its clock. Per TFLOP/s in plain fp32 and nm of the process; per
  // TFLOP/s of 16 bits where operands come from registers. In a short loop the limit acts in part, and fully on calls
  // much longer than this.
  double plain_watts = 1.7, tensor_watts = 1.2, limited_us = 1200, limited_at_once = 0.2;

  std::array<Tile, 13> tensor_tiles = {{{256, 128, 1},
                                        {128, 256, 1},
                                        {128, 128, 1},
                                        {128, 64, 0.95},
                                        {64, 128, 0.95},
                                        {64, 64, 0.85},
                                        {32, 128, 0.8},
                                        {128, 32, 0.8},
                                        {64, 32, 0.65},
                                        {32, 64, 0.65},
                                        {32, 32, 0.5},
                                        {16, 64, 0.45},
                                        {64, 16, 0.45}}};
  std::array<Tile, 9> plain_tiles = {{{128, 128, 1.05},
                                      {128, 64, 1},
                                      {64, 128, 1},
                                      {64, 64, 0.9},
                                      {32, 128, 0.9},
                                      {128, 32, 0.9},
                                      {64, 32, 0.9},
                                      {32, 64, 0.9},
                                      {32, 32, 0.9}}};
  // Those of cuBLAS' kernels by generation (volta_sgemm_64x32 and so on name the columns first).
  std::array<Tile, 3> volta_batched = {{{64, 64, 1}, {128, 32, 0.7}, {32, 128, 0.57}}};
  std::array<Tile, 3> turing_batched = {{{64, 128, 1}, {64, 64, 0.77}, {32, 128, 0.78}}};
  std::array<Tile, 6> turing_tiles = {
      {{128, 128, 1.05}, {64, 128, 0.92}, {64, 64, 0.8}, {32, 128, 0.66}, {128, 32, 0.57}, {32, 32, 0.57}}};
  std::array<Tile, 3> pascal_tiles = {{{64, 64, 0.9}, {32, 128, 0.9}, {128, 32, 0.9}}};
  std::array<Tile, 1> pascal_batched = {{{64, 128, 1}}};
  std::array<Tile, 1> old_batched = {{{128, 128, 1.05}}};  // PyTorch 2.1 on Ampere and later

  // Of which generations plain fp32 and launches were seen: what is said of others alone is not used.
  struct Known {
    bool pascal = true, volta = true, turing = true, old_ampere = true, many_lanes = true;
    bool launch_scale = true;  // of a generation that launches faster than others
  } known;
};

inline constexpr ProductConstants kProducts;  // those that ship

}  // namespace forerun
