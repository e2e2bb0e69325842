#include "training/products/searched_constants.hpp"

namespace forerun {

std::vector<SearchedConstant> searched_constants(ProductConstants& c) {
  std::vector<SearchedConstant> list;
  const auto add = [&](double& value, double neutral, double low, double high, double step) {
    list.push_back({&value, neutral, low, high, step, Change::Add});
  };
  const auto scale = [&](double& value, double neutral, double low, double high) {
    list.push_back({&value, neutral, low, high, 2, Change::Scale});
  };
  const auto rates = [&](auto& tiles) {
    for (Tile& tile : tiles) add(tile.rate, 1, 0.2, 1.2, 0.2);
  };
  // Not searched, and without effect: one card alone, or hardly any row of a sweep, tells of them. (step_gap_us is how
  // eager steps were timed, not the device's.)
  c.graphics_clock = 1;
  c.unaligned_per_clock = 8192;
  add(c.tensor_share, 0.9, 0.5, 1, 0.1);
  add(c.plain_share, 0.9, 0.5, 1, 0.1);
  add(c.memory_share, 0.9, 0.5, 1, 0.1);
  add(c.better_memory_share, 0.9, 0.5, 1, 0.1);
  add(c.l2_bytes_per_clock, 32, 8, 64, 16);
  add(c.split_l2, 1, 0.3, 1, 0.5);
  add(c.sharpness, 3, 1, 8, 1);
  add(c.launch_us, 2.5, 0.5, 6, 0.5);
  add(c.intel_launch_us, 5, 0, 60, 10);
  add(c.tensor_fill, 64, 0, 400, 64);
  add(c.tile_us, 0, 0, 3, 0.5);
  add(c.tile_of_16384_us, 0, 0, 3, 0.5);
  add(c.stage_us, 0, 0, 0.4, 0.05);
  add(c.tf32_start_us, 0, 0, 4, 1);
  add(c.serial_cycles, 0, 0, 40, 5);
  add(c.idle_in_last, 1, 0, 1, 0.25);
  add(c.split_us, 2.5, 0, 8, 1);
  scale(c.tensor_piece, 256, 32, 4096);
  add(c.plain_fill, 8, 0, 100, 8);
  add(c.plain_blocks, 2, 1, 8, 1);
  add(c.plain_round_us, 0, 0, 6, 1);
  add(c.last_wave, 0.5, 0, 1, 0.25);
  scale(c.plain_piece, 256, 32, 16384);
  // Of the instructions of a thread that multiplies 8 x 8, 8 x 4 or 4 x 4 numbers: half as many others as it reads
  // numbers. Pascal issues both at once.
  const double shares[] = {64 / 72.0, 32 / 38.0, 16 / 20.0};
  for (std::size_t i = 0; i < 3; ++i) add(c.issue_share[i], shares[i], 0.3, 1, 0.1);
  for (double& share : c.pascal_issue_share) add(share, 1, 0.3, 1, 0.1);
  add(c.exposed_cycles, 32, 0, 120, 20);
  add(c.exposed_small, 32, 0, 120, 20);
  add(c.cycles_of_4_rows, 16, 1, 60, 4);
  add(c.cycles_of_16_rows, 16, 1, 60, 4);
  scale(c.few_columns, 32, 4, 256);
  scale(c.spare_columns, 4, 1, 64);
  add(c.wide_round_us, 0, 0, 6, 1);
  scale(c.wide_piece, 1024, 32, 16384);
  scale(c.gradient_piece, 256, 32, 16384);
  add(c.read_again, 0, 0, 1, 0.25);
  scale(c.deep_row, 1024, 128, 16384);
  add(c.deep_power, 0, 0, 1, 0.2);
  scale(c.reached_mib, 512, 4, 512);
  add(c.plain_watts, 1.6, 0, 4, 0.5);
  add(c.tensor_watts, 1.2, 0, 3, 0.4);
  scale(c.limited_us, 1000, 10, 10000);
  add(c.limited_at_once, 1, 0, 1, 0.25);
  rates(c.tensor_tiles);
  rates(c.plain_tiles);
  rates(c.volta_batched);
  rates(c.turing_batched);
  rates(c.turing_tiles);
  rates(c.pascal_tiles);
  rates(c.pascal_batched);
  rates(c.old_batched);
  for (const SearchedConstant& constant : list) *constant.value = constant.neutral;
  return list;
}

}  // namespace forerun
