// The roofline's report: a device's ceilings and the kernels under them.
#include <algorithm>

#include "devices/ceilings.hpp"
#include "predictors/roofline/roofline.hpp"
#include "service/describe.hpp"
#include "service/estimate.hpp"

namespace forerun {

RooflineReport report_roofline(const Plan& plan, const Request& request, const Device& device) {
  Workload workload = plan.workload;
  workload.runtime = request.runtime;
  const RooflineEstimate estimate = estimate_roofline(plan, workload, device);
  RooflineReport report;
  report.workload = describe_workload(plan, request);
  report.device = device.id;
  report.device_name = device.name;
  report.warnings = plan.warnings;
  for (const auto& [name, rate] : device.peak_tflops) report.ceilings.push_back({name, rate, false, false});
  report.ceilings.push_back({"memory", device.memory_bandwidth_gb_per_s, true, false});
  if (device.measured) {
    for (const auto& [name, rate] : device.measured->peak_tflops) report.ceilings.push_back({name, rate, false, true});
    if (device.measured->memory_bandwidth_gb_per_s)
      report.ceilings.push_back({"memory", *device.measured->memory_bandwidth_gb_per_s, true, true});
  }
  for (const BandwidthCeiling& c : bandwidth_ceilings(device)) {
    if (c.level == "memory" && c.basis != CeilingBasis::Reported) continue;  // there already
    const bool is_estimate = c.basis == CeilingBasis::Architecture;
    report.ceilings.push_back(
        {std::string(c.level) + (is_estimate ? " (estimated)" : ""), c.gb_per_s, true, !is_estimate});
  }
  report.points.resize(plan.group_names.size());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const Kernel& kernel = plan.kernels[i];
    const KernelTime& time = estimate.kernels[i];
    const auto group = std::size_t(plan.kernel_group[i]);
    RooflinePoint& point = report.points[group];
    if (point.kernel.empty()) {
      point.kernel = plan.group_names[group];
      point.count = 0;
      point.bound = time.bound;
      point.why = explain_bound(kernel, time, device);
    }
    point.count += std::int64_t(kernel.runs);
    point.flops += kernel.flops * kernel.runs;
    point.bytes += (kernel.read_bytes + kernel.write_bytes) * kernel.runs;
    point.time_ms += time.time_us / 1e3;
  }
  for (RooflinePoint& point : report.points) {
    point.intensity = point.bytes > 0 ? point.flops / point.bytes : 0;
    point.gflops_per_s = point.time_ms > 0 ? point.flops / point.time_ms / 1e6 : 0;
  }
  std::sort(report.points.begin(), report.points.end(),
            [](const RooflinePoint& a, const RooflinePoint& b) { return a.time_ms > b.time_ms; });
  return report;
}

}  // namespace forerun
