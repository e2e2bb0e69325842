// Any bytes as a device file: parsed, cut into MIG slices, and a small network timed on each. It must return, without a
// sanitizer report, and no time may be negative or not a number.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "advice/mig.hpp"
#include "analysis/analyze.hpp"
#include "devices/catalogue.hpp"
#include "fuzz/json_mutator.hpp"
#include "predictors/roofline/roofline.hpp"
#include "readers/networks.hpp"

namespace {

constexpr std::string_view kKeys[] = {"id",
                                      "name",
                                      "maker",
                                      "kind",
                                      "architecture",
                                      "year",
                                      "aliases",
                                      "sm_count",
                                      "peak_tflops",
                                      "memory_gib",
                                      "clock_boost_mhz",
                                      "memory_bandwidth_gb_per_s",
                                      "l2_mib",
                                      "power_limit_w",
                                      "idle_power_w",
                                      "interconnect",
                                      "mig",
                                      "measured",
                                      "sources",
                                      "compute_slices",
                                      "profile",
                                      "instances",
                                      "memory_slices",
                                      "compute_capability",
                                      "fp32",
                                      "fp16_tensor",
                                      "tf32_tensor",
                                      "pcie_lanes",
                                      "gb_per_s",
                                      "cuda_cores_per_sm"};
constexpr std::string_view kWords[] = {"gpu", "cpu", "hopper", "9.0", "NVIDIA", "1g.10gb"};

struct Work {
  forerun::Graph graph;
  forerun::Workload workload;
  std::vector<forerun::Kernel> kernels;
};

Work make_work() {
  Work work;
  const auto network = forerun::find_network("bert-base-uncased");
  forerun::Binding binding;
  binding.seq = 16;
  work.graph = forerun::analyze(**network, binding).value();
  work.kernels = forerun::list_kernels(work.graph, work.workload);
  work.kernels.resize(std::min<std::size_t>(work.kernels.size(), 12));
  return work;
}

void time_on(const forerun::Device& device) {
  static const Work kWork = make_work();
  const auto estimate = forerun::estimate_roofline(kWork.graph, kWork.kernels, kWork.workload, device);
  if (std::isnan(estimate.latency_eager_ms) || estimate.latency_eager_ms < 0) std::abort();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return forerun::JsonMutator(kKeys, kWords).mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto device = forerun::parse_device({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!device) return 0;
  time_on(*device);
  for (const forerun::MigSlice& slice : forerun::list_slices(*device)) time_on(slice.device);
  return 0;
}
