// Which MIG slice of a card a workload needs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "devices/device.hpp"

namespace forerun {

struct SliceEstimate {
  MigProfile profile;
  bool fits = false;
  double latency_ms = 0;
  double throughput_per_s = 0;        // of one instance
  double total_throughput_per_s = 0;  // of all instances on the card
};

struct MigAdvice {
  std::string profile;
  int instances = 0;
  std::string why;
  std::vector<SliceEstimate> slices;  // every profile, smallest first
};

// The published rule for the A100-40GB: the smallest of 5, 10, 20, 40 GB (of 1024 MB) that holds the memory.
[[nodiscard]] std::optional<std::string> mig_by_memory_rule(double memory_mb);

// Latency of the workload on a slice of the card.
using SliceLatency = std::function<double(const Device& slice)>;

// The default rule, for every device with MIG: the smallest slice that holds the process with a margin of 10 % and, where
// a limit is given, keeps the latency under it. nullopt when no slice does (or the device has none).
[[nodiscard]] std::optional<MigAdvice> advise_mig(const Device& device, double device_memory_mb, double batch,
                                                  std::optional<double> max_latency_ms, const SliceLatency& latency);
// All slices with their estimates, advice or not.
[[nodiscard]] std::vector<SliceEstimate> estimate_slices(const Device& device, double device_memory_mb, double batch,
                                                         const SliceLatency& latency);

}  // namespace forerun
