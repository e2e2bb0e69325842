// Teaches the trees of predictors/trees/kernel_power.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataset/tree_rows.hpp"
#include "training/trees/booster.hpp"

namespace forerun {

// One reading: mean power over passes of known length.
struct PowerReading {
  std::size_t example = 0;
  double watts = 0;
  CountedPass pass;
};
// Every reading of these rows, of eager passes, steps and replays. REQUIRES: sum_kernels
[[nodiscard]] std::vector<PowerReading> power_readings(const TreeRows& rows);

// Every answer walks the trees for each of its kernels: few ship, and they are not yet at the end of learning.
inline constexpr int kPowerRounds = 40;
Result<TreeNodes> train_kernel_power(const TreeRows& rows, std::span<const PowerReading> readings, std::uint64_t seed,
                                     int rounds = kPowerRounds);

}  // namespace forerun
