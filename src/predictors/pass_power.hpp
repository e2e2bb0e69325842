// Mean power of a pass, from the power while kernels run (which learned predictors predict) and the power while the
// device waits for the host.
#pragma once

#include <algorithm>

namespace forerun {

inline constexpr double kUsualPowerW = 250;   // learned kernel powers are ratios to it
inline constexpr double kWaitPowerW = 125.7;  // reference board (H200) while it waits for the host
// Energy was recorded in a loop that reads the board's energy counter after each pass; one reading takes this long.
inline constexpr double kCounterReadMs = 4.2;
inline constexpr double kReplayGapMs = 0.011;  // idle time between two replays of a CUDA graph
inline constexpr double kUnevenSteps = 1.02;   // mean over median of training step times

// How energy was measured. The defaults are those of the reference campaign.
struct CountedAs {
  double wait_w = kWaitPowerW;         // while the device waits for its host
  double counter_ms = kCounterReadMs;  // 0: the counter was read in parallel to the run
  double uneven = 1;                   // mean over median of the pass times
};

[[nodiscard]] inline CountedAs counted(CountedAs as, bool training) {
  as.uneven = training ? kUnevenSteps : 1;
  return as;
}

// One pass as the energy counter sees it: kernel time, time from the start of one pass to the start of the next, and
// power while waiting.
struct CountedPass {
  double kernel_ms = 0, period_ms = 0, wait_w = kWaitPowerW;
};

// busy_w is calibrated to the reference board; differences in waiting power carry over as an offset.
[[nodiscard]] inline double pass_power_w(const CountedPass& pass, double busy_w) {
  return pass.wait_w + (busy_w - kWaitPowerW) * pass.kernel_ms / std::max(pass.period_ms, pass.kernel_ms);
}

}  // namespace forerun
