// The host that answers are for (data/hosts/reference.json), and the host's part of an eager pass.
#pragma once

#include <array>

#include "devices/device.hpp"
#include "predictors/pass_power.hpp"
#include "records/roofline_estimate.hpp"
#include "records/run_kind.hpp"

namespace forerun {

struct ReferenceHost {
  double probe_us = 0;                                     // time of the worker's probe (measuring/worker/quiet.py)
  std::array<double, std::size_t(RunKind::Count)> time{};  // relative to the host of the analytic constants
  double wait_power_w = kWaitPowerW;                       // of the reference board while it waits for this host
};
[[nodiscard]] const ReferenceHost& reference_host();
// Energy and power of the passes alone.
[[nodiscard]] CountedAs reference_counted(bool training);

// The host's part of an eager pass or step.
struct HostPart {
  double time = 1;        // relative to the host of the analytic constants
  double learned_ms = 0;  // from the same pass on a device that was measured; 0: not known there
  double half_width = 0;  // of the 90 % interval of learned_ms, on the log scale
  [[nodiscard]] double of(double analytic_ms) const { return learned_ms > 0 ? learned_ms : time * analytic_ms; }
};

// Host and device work in parallel: a smooth maximum of both.
[[nodiscard]] double eager_ms(double device_ms, double host_ms);
// The share of an eager pass that its device decides: d log(eager_ms) / d log(device_ms).
[[nodiscard]] double device_share(double device_ms, double host_ms);
// The host time that makes a pass of these kernels take `eager`. Where the device decides, the pass tells little of its
// host: the analytic time, as far as it agrees with the pass.
[[nodiscard]] double host_ms_behind(double eager, double device_ms, double analytic_ms);

// The analytic eager latency and power with this host time.
[[nodiscard]] RooflineEstimate eager_on_host(const RooflineEstimate& roofline, double host_ms, const Device& device);

}  // namespace forerun
