// The arithmetic on recorded sweeps: which part of a bandwidth curve is a level of the memory hierarchy, and what it
// gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/characterize.hpp"

namespace forerun {

struct Plateau {
  double from_bytes = 0;
  double to_bytes = 0;
  double gb_per_s = 0;  // the median of its points
  int points = 0;
};

// The widest stretch (by the ratio of its sizes) inside [from_bytes, to_bytes] whose bandwidths differ by no more than
// `tolerance` of the largest; nothing when no point lies in the range. Points may come in any order.
[[nodiscard]] std::optional<Plateau> find_plateau(std::vector<BandwidthPoint> sweep, double from_bytes, double to_bytes,
                                                  double tolerance = 0.2);

// Device memory: working sets of at least 8 times the L2. L2: from a sixteenth of it (small sets that every
// multiprocessor reads at once are served by merged requests, and look faster than L2 is) to nine tenths. L1: the
// private sweep's fastest stretch.
[[nodiscard]] std::optional<double> memory_bandwidth_gb_per_s(const Characterization& result);
[[nodiscard]] std::optional<double> l2_bandwidth_gb_per_s(const Characterization& result);
[[nodiscard]] std::optional<double> l1_bandwidth_gb_per_s(const Characterization& result);

}  // namespace forerun
