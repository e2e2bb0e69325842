#include "devices/device.hpp"

#include <algorithm>

namespace forerun {

Device slice_of(const Device& device, const MigProfile& profile) {
  Device slice = device;
  slice.id = device.id + ":" + profile.profile;
  slice.name = device.name + " MIG " + profile.profile;
  slice.slice = profile.profile;
  slice.aliases.clear();
  slice.mig.clear();
  const double sms = double(profile.sm_count) / std::max(1, device.sm_count);
  // Memory slices share the card's channels and L2 equally; most cards have eight, the A30 four.
  int most = 1;
  for (const MigProfile& other : device.mig) most = std::max(most, other.memory_slices);
  const double memory = std::min(1.0, double(profile.memory_slices) / most);
  slice.sm_count = profile.sm_count;
  slice.sm_share = sms;
  for (auto& [precision, rate] : slice.peak_tflops) rate *= sms;
  slice.memory_gib = profile.memory_gib;
  slice.memory_bandwidth_gb_per_s *= memory;
  if (slice.l2_mib) *slice.l2_mib *= memory;
  // Power is metered for the whole card; a slice is charged its share.
  slice.power_limit_w *= sms;
  if (slice.idle_power_w) *slice.idle_power_w *= sms;
  const auto scale = [](std::optional<double>& figure, double share) {
    if (figure) *figure *= share;
  };
  if (slice.reported) {
    scale(slice.reported->memory_bandwidth_gb_per_s, memory);
    scale(slice.reported->l2_bandwidth_gb_per_s, memory);
    scale(slice.reported->l1_bandwidth_gb_per_s, sms);
  }
  if (slice.measured) {
    for (auto& [precision, rate] : slice.measured->peak_tflops) rate *= sms;
    scale(slice.measured->memory_bandwidth_gb_per_s, memory);
    scale(slice.measured->l2_bandwidth_gb_per_s, memory);
    scale(slice.measured->l1_bandwidth_gb_per_s, sms);
    scale(slice.measured->idle_power_w, sms);
    scale(slice.measured->loaded_power_w, sms);
  }
  return slice;
}

}  // namespace forerun
