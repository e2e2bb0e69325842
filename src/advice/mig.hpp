// Which MIG slice of a card a workload needs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "devices/device.hpp"

namespace forerun {

// A MIG profile of a card, and the slice as a Device.
struct MigSlice {
  MigProfile profile;
  Device device;
};
// Every profile of the card, smallest first; empty when it has none.
[[nodiscard]] std::vector<MigSlice> list_slices(const Device& device);

struct SliceEstimate {
  MigProfile profile;
  bool fits = false;
  double latency_ms = 0;
  double throughput_per_s = 0;        // of one instance
  double total_throughput_per_s = 0;  // of all instances on the card
};
// A slice holds the process with a margin of 10 %. `latency_ms`: of the workload on each slice.
[[nodiscard]] std::vector<SliceEstimate> estimate_slices(std::span<const MigSlice> slices, double device_memory_mb,
                                                         double batch, std::span<const double> latency_ms);

struct MigAdvice {
  std::string profile;
  int instances = 0;
  std::string why;
};
// The default rule, for every device with MIG: the smallest slice that holds the process and, where a limit is given,
// keeps the latency under it. nullopt when no slice does. REQUIRES: slices smallest first.
[[nodiscard]] std::optional<MigAdvice> advise_mig(std::span<const SliceEstimate> slices, double device_memory_mb,
                                                  std::optional<double> max_latency_ms);

// The published rule by the device's use, from 0 to 1: under a quarter the smallest slices, then 2g, 3g, and the whole
// card; a larger one where the process does not fit. nullopt when it fits into none.
[[nodiscard]] std::optional<MigAdvice> advise_mig_by_use(std::span<const SliceEstimate> slices, double gpu_busy);
// What switches MIG on (once, as root, on an idle card) and makes as many slices as the card holds.
[[nodiscard]] std::vector<std::string> mig_commands(const MigAdvice& advice);

// The published rule for the A100-40GB: the smallest of 5, 10, 20, 40 GB (of 1024 MB) that holds the memory.
[[nodiscard]] std::optional<std::string> mig_by_memory_rule(double memory_mb);
[[nodiscard]] std::optional<MigAdvice> advise_mig_by_memory_rule(std::span<const SliceEstimate> slices,
                                                                 double memory_mb);

}  // namespace forerun
