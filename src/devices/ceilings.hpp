// How fast a device reads its memory and its caches: measured on one, reported by others, or by its generation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "devices/device.hpp"

namespace forerun {

// Measured: by `forerun-lab characterize`. Reported: measured by others (the device file names them). Architecture:
// bytes that a multiprocessor of its generation reads in a clock.
enum class CeilingBasis : std::uint8_t { Measured, Reported, Architecture, DataSheet };
[[nodiscard]] std::string_view name_of(CeilingBasis basis);  // "measured", …, "data sheet"

struct BandwidthCeiling {
  std::string_view level;  // "memory", "L2", "L1"; L2 is the last level of a CPU
  double gb_per_s = 0;
  CeilingBasis basis = CeilingBasis::DataSheet;
};
// Memory, L2, L1, the best known of each. A level is left out where neither the device nor its generation tells it.
[[nodiscard]] std::vector<BandwidthCeiling> bandwidth_ceilings(const Device& device);

}  // namespace forerun
