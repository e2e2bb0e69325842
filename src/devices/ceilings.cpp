#include "devices/ceilings.hpp"

#include <algorithm>
#include <array>

#include "devices/architecture.hpp"

namespace forerun {
namespace {

// GB/s of all multiprocessors at the clock they keep: a CPU's cores are not all at their boost clock.
std::optional<double> by_architecture(const Device& device, const std::optional<double>& bytes_per_clock) {
  constexpr double kUsualMhz = 1900;
  if (!bytes_per_clock) return std::nullopt;
  const auto& boost_mhz = device.clock_boost_mhz;
  const double mhz =
      device.kind == "cpu" && device.clock_base_mhz ? *device.clock_base_mhz : boost_mhz.value_or(kUsualMhz);
  return *bytes_per_clock * std::max(1, device.sm_count) * mhz / 1e3;
}

}  // namespace

std::string_view name_of(CeilingBasis basis) {
  constexpr std::array<std::string_view, 4> kNames = {"measured", "reported", "architecture", "data sheet"};
  return kNames[std::size_t(basis)];
}

std::vector<BandwidthCeiling> bandwidth_ceilings(const Device& device) {
  std::vector<BandwidthCeiling> ceilings;
  const auto add = [&](std::string_view level, std::optional<double> MeasuredCeilings::*measured,
                       std::optional<double> ReportedCeilings::*reported, const std::optional<double>& otherwise,
                       CeilingBasis basis) {
    if (device.measured && (*device.measured).*measured) {
      ceilings.push_back({level, *((*device.measured).*measured), CeilingBasis::Measured});
    } else if (device.reported && (*device.reported).*reported) {
      ceilings.push_back({level, *((*device.reported).*reported), CeilingBasis::Reported});
    } else if (otherwise) {
      ceilings.push_back({level, *otherwise, basis});
    }
  };
  const Architecture& a = architecture_of(device);
  add("memory", &MeasuredCeilings::memory_bandwidth_gb_per_s, &ReportedCeilings::memory_bandwidth_gb_per_s,
      device.memory_bandwidth_gb_per_s, CeilingBasis::DataSheet);
  add("L2", &MeasuredCeilings::l2_bandwidth_gb_per_s, &ReportedCeilings::l2_bandwidth_gb_per_s,
      by_architecture(device, a.l2_bytes_per_clock), CeilingBasis::Architecture);
  add("L1", &MeasuredCeilings::l1_bandwidth_gb_per_s, &ReportedCeilings::l1_bandwidth_gb_per_s,
      by_architecture(device, a.l1_bytes_per_clock), CeilingBasis::Architecture);
  return ceilings;
}

}  // namespace forerun
