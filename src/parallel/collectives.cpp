#include "parallel/collectives.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {
namespace {

constexpr double kStartUs = 4, kHopUs = 6;                // fixed cost, cost per doubling of the devices
constexpr double kLinkShare = 0.7, kPcieShare = 0.6;      // of the one-way rate that a ring of two reaches
constexpr double kPcieCrowd = 0.6;                        // more than two devices on PCIe share its bridges
constexpr double kHalfRateBytes = 2.5e6;                  // message per device at which a ring reaches half its rate
constexpr double kEngineStartUs = 4, kEngineShare = 0.6;  // every device reads all others
constexpr double kSendStartUs = 5, kSendShare = 0.75;

double one_way_gb_per_s(const Device& device) {
  return device.interconnect.gb_per_s ? *device.interconnect.gb_per_s / 2
                                      : device.interconnect.pcie_gb_per_s.value_or(16);
}

}  // namespace

double all_reduce_us(const Device& device, std::int64_t devices, double bytes, Exchange how) {
  if (devices <= 1) return 0;
  const double n = double(devices);
  const bool linked = device.interconnect.gb_per_s.has_value();
  const double rate = one_way_gb_per_s(device) * 1e3 *
                      (linked  ? kLinkShare
                       : n > 2 ? kPcieShare * kPcieCrowd
                               : kPcieShare);  // bytes per µs
  const double moved = 2 * (n - 1) / n * bytes;
  // Short messages do not reach the full link bandwidth; the lost time does not grow beyond kHalfRateBytes.
  const double ring =
      kStartUs + kHopUs * std::log2(n) + (moved + (linked ? std::min(moved, kHalfRateBytes) : 0)) / rate;
  if (how == Exchange::Nccl || !(linked || n == 2)) return ring;
  return std::min(ring, kEngineStartUs + (n - 1) * bytes / (one_way_gb_per_s(device) * 1e3 * kEngineShare));
}

double send_us(const Device& device, double bytes) {
  return kSendStartUs + bytes / (one_way_gb_per_s(device) * kSendShare * 1e3);
}

}  // namespace forerun
