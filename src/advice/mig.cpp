#include "advice/mig.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forerun {
namespace {
constexpr double kMargin = 1.10;  // memory that other allocations and fragmentation may need
}

std::optional<std::string> mig_by_memory_rule(double memory_mb) {
  struct Step {
    double gb;
    const char* profile;
  };
  for (const Step& step : {Step{5, "1g.5gb"}, Step{10, "2g.10gb"}, Step{20, "3g.20gb"}, Step{40, "7g.40gb"}}) {
    if (memory_mb <= step.gb * 1024) return step.profile;
  }
  return std::nullopt;
}

std::vector<SliceEstimate> estimate_slices(const Device& device, double device_memory_mb, double batch, const SliceLatency& latency) {
  std::vector<SliceEstimate> slices;
  for (const MigProfile& profile : device.mig) {
    SliceEstimate estimate;
    estimate.profile = profile;
    estimate.fits = device_memory_mb * kMargin <= profile.memory_gib * 1024;
    estimate.latency_ms = latency(slice_of(device, profile));
    estimate.throughput_per_s = estimate.latency_ms > 0 ? batch * 1000 / estimate.latency_ms : 0;
    estimate.total_throughput_per_s = estimate.throughput_per_s * profile.instances;
    slices.push_back(std::move(estimate));
  }
  std::stable_sort(slices.begin(), slices.end(), [](const SliceEstimate& a, const SliceEstimate& b) {
    return std::pair(a.profile.compute_slices, a.profile.memory_gib) < std::pair(b.profile.compute_slices, b.profile.memory_gib);
  });
  return slices;
}

std::optional<MigAdvice> advise_mig(const Device& device, double device_memory_mb, double batch,
                                    std::optional<double> max_latency_ms, const SliceLatency& latency) {
  MigAdvice advice;
  advice.slices = estimate_slices(device, device_memory_mb, batch, latency);
  for (const SliceEstimate& slice : advice.slices) {
    if (!slice.fits || (max_latency_ms && slice.latency_ms > *max_latency_ms)) continue;
    advice.profile = slice.profile.profile;
    advice.instances = slice.profile.instances;
    advice.why = fmt::format("smallest slice that holds {:.0f} MB with a 10 % margin{}: {:.3g} ms, {} per card give {:.4g}/s",
                             device_memory_mb, max_latency_ms ? fmt::format(" and stays under {:g} ms", *max_latency_ms) : "",
                             slice.latency_ms, slice.profile.instances, slice.total_throughput_per_s);
    return advice;
  }
  return std::nullopt;
}

}  // namespace forerun
