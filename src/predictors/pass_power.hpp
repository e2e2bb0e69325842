// The power of a pass, from what its kernels draw while they run and what the device draws while it waits. Learned
// predictors predict the former.
#pragma once

#include <algorithm>

namespace forerun {

inline constexpr double kUsualPowerW = 250;   // learned powers of kernels are stated relative to it
inline constexpr double kWaitPowerW = 125.7;  // the H200 of the first campaign, waiting for its host
// Recorded energy is that of a measuring loop that reads the board's counter after each pass; the reading takes this
// long.
inline constexpr double kCounterReadMs = 4.2;
inline constexpr double kReplayGapMs = 0.011;  // between one replay of a graph and the next
inline constexpr double kUnevenSteps = 1.02;   // the mean of training steps over their median

// How energy was counted: as in the first campaign, where nothing else is said.
struct CountedAs {
  double wait_w = kWaitPowerW;         // while the device waits for its host
  double counter_ms = kCounterReadMs;  // 0: the counter was read beside the run
  double uneven = 1;                   // the mean of its passes over their median
};

[[nodiscard]] inline CountedAs counted(CountedAs as, bool training) {
  as.uneven = training ? kUnevenSteps : 1;
  return as;
}

// One pass as the counter sees it: its kernels' time, from one pass's begin to the next one's, and the board's watts
// while it waits.
struct CountedPass {
  double kernel_ms = 0, period_ms = 0, wait_w = kWaitPowerW;
};

// busy_w is the first campaign's board's: one that draws more while it waits draws as much more while it works.
[[nodiscard]] inline double pass_power_w(const CountedPass& pass, double busy_w) {
  return pass.wait_w + (busy_w - kWaitPowerW) * pass.kernel_ms / std::max(pass.period_ms, pass.kernel_ms);
}

}  // namespace forerun
