#include "advice/mig.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "advice/advice.hpp"

namespace forerun {
namespace {
constexpr double kMargin = 1.10;  // memory that other allocations and fragmentation may need
}

std::vector<MigSlice> list_slices(const Device& device) {
  std::vector<MigSlice> slices;
  for (const MigProfile& profile : device.mig) slices.push_back({profile, slice_of(device, profile)});
  std::stable_sort(slices.begin(), slices.end(), [](const MigSlice& a, const MigSlice& b) {
    return std::pair(a.profile.compute_slices, a.profile.memory_gib) <
           std::pair(b.profile.compute_slices, b.profile.memory_gib);
  });
  return slices;
}

std::vector<SliceEstimate> estimate_slices(std::span<const MigSlice> slices, double device_memory_mb, double batch,
                                           std::span<const double> latency_ms) {
  std::vector<SliceEstimate> estimates;
  estimates.reserve(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const MigSlice& slice = slices[i];
    SliceEstimate estimate;
    estimate.profile = slice.profile;
    estimate.fits = device_memory_mb * kMargin <= slice.profile.memory_gib * 1024;
    estimate.latency_ms = latency_ms[i];
    estimate.throughput_per_s = estimate.latency_ms > 0 ? batch * 1000 / estimate.latency_ms : 0;
    estimate.total_throughput_per_s = estimate.throughput_per_s * slice.profile.instances;
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

std::optional<MigAdvice> advise_mig(std::span<const SliceEstimate> slices, double device_memory_mb,
                                    std::optional<double> max_latency_ms) {
  for (const SliceEstimate& slice : slices) {
    if (!slice.fits || (max_latency_ms && slice.latency_ms > *max_latency_ms)) continue;
    return MigAdvice{
        slice.profile.profile, slice.profile.instances,
        fmt::format("smallest slice that holds {:.0f} MB with a 10 % margin{}: {:.3g} ms, {} per card give {:.4g}/s",
                    device_memory_mb, max_latency_ms ? fmt::format(" and stays under {:g} ms", *max_latency_ms) : "",
                    slice.latency_ms, slice.profile.instances, slice.total_throughput_per_s)};
  }
  return std::nullopt;
}

std::optional<MigAdvice> advise_mig_by_use(std::span<const SliceEstimate> slices, double gpu_busy) {
  struct Step {
    double below;
    int compute_slices;
  };
  // Published for the A100-40GB: under 25 % 7 x 5 GB, 25-50 % 3 x 10 GB, then 2 x 20 GB and 1 x 40 GB; the last border
  // is not printed and taken as 75 %.
  constexpr Step kSteps[] = {{0.25, 1}, {0.5, 2}, {0.75, 3}, {1e9, 7}};
  bool is_reached = false, is_too_small = false;
  for (const Step& step : kSteps) {
    is_reached = is_reached || gpu_busy < step.below;
    if (!is_reached) continue;
    const SliceEstimate* best = nullptr;  // of several with as many compute slices the one that fits most often
    for (const SliceEstimate& slice : slices) {
      if (slice.profile.compute_slices != step.compute_slices) continue;
      is_too_small = is_too_small || !slice.fits;
      if (slice.fits && (best == nullptr || slice.profile.instances > best->profile.instances)) best = &slice;
    }
    if (best == nullptr) continue;
    return MigAdvice{best->profile.profile, best->profile.instances,
                     fmt::format("published rule by use: kernels run {:.0f} % of the time{}", gpu_busy * 100,
                                 is_too_small ? "; smaller slices do not hold it" : "")};
  }
  return std::nullopt;
}

std::vector<std::string> mig_commands(const MigAdvice& advice) {
  std::string profiles;
  for (int i = 0; i < std::max(1, advice.instances); ++i) profiles += (i == 0 ? "" : ",") + advice.profile;
  return {"sudo nvidia-smi -i 0 -mig 1", "sudo nvidia-smi mig -i 0 -cgi " + profiles + " -C",
          "nvidia-smi -L  # each slice's id, for CUDA_VISIBLE_DEVICES"};
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

std::optional<MigAdvice> advise_mig_by_memory_rule(std::span<const SliceEstimate> slices, double memory_mb) {
  const auto profile = mig_by_memory_rule(memory_mb);
  if (!profile) return std::nullopt;
  MigAdvice advice{*profile, 0, fmt::format("published memory rule: {:.0f} MB", memory_mb)};
  for (const SliceEstimate& slice : slices) {
    if (slice.profile.profile == *profile) advice.instances = slice.profile.instances;
  }
  return advice;
}

Status advise_slices(const AdviceInput& input, Advice& advice, std::vector<std::string>&) {
  if (input.slices.empty()) return ok();
  const double memory_mb = needed_memory_mb(input.estimates);
  advice.slices = estimate_slices(input.slices, memory_mb, input.batch, input.slice_latency_ms);
  if (input.options.mig_rule == "memory") {
    const std::string& id = input.device.id;
    if (!id.starts_with("a100") || id.find("40gb") == std::string::npos)
      return bad_input("--rule memory is the A100-40GB's; " + id + " is another card");
    advice.mig = advise_mig_by_memory_rule(advice.slices, input.estimates.at(Metric::Memory).value);
  } else if (input.options.mig_rule == "utilisation") {
    advice.mig = advise_mig_by_use(advice.slices, input.gpu_busy);
  } else {
    advice.mig = advise_mig(advice.slices, memory_mb, input.options.max_latency_ms);
  }
  return ok();
}

}  // namespace forerun
