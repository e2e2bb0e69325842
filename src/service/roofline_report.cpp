// The roofline's report: a device's ceilings and the kernels under them.
#include <algorithm>
#include <set>

#include "devices/ceilings.hpp"
#include "features/kernel_facts.hpp"
#include "predictors/roofline/kernel_time.hpp"
#include "predictors/roofline/traffic.hpp"
#include "service/describe.hpp"
#include "service/estimate.hpp"
#include "service/operator_network.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMostVariants = 64;  // of a sweep

std::vector<Ceiling> ceilings_of_report(const Device& device, const std::set<std::string_view>& units) {
  std::vector<Ceiling> ceilings;
  const auto add = [&](const std::map<std::string, double>& rates, bool is_measured) {
    for (const auto& [name, rate] : rates) ceilings.push_back({name, rate, false, is_measured, units.contains(name)});
  };
  add(device.peak_tflops, false);
  ceilings.push_back({"memory", device.memory_bandwidth_gb_per_s, true, false, true});
  if (device.measured) {
    add(device.measured->peak_tflops, true);
    if (device.measured->memory_bandwidth_gb_per_s)
      ceilings.push_back({"memory", *device.measured->memory_bandwidth_gb_per_s, true, true, true});
  }
  for (const BandwidthCeiling& c : bandwidth_ceilings(device)) {
    if (c.level == "memory" && c.basis != CeilingBasis::Reported) continue;  // there already
    const bool is_estimate = c.basis == CeilingBasis::Architecture;
    ceilings.push_back(
        {std::string(c.level) + (is_estimate ? " (estimated)" : ""), c.gb_per_s, true, !is_estimate, true});
  }
  return ceilings;
}

std::vector<RooflinePoint> points_of(const Plan& plan, const RooflineEstimate& estimate, const Device& device) {
  std::vector<RooflinePoint> points(plan.group_names.size());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const Kernel& kernel = plan.kernels[i];
    const KernelTime& time = estimate.kernels[i];
    const auto group = std::size_t(plan.kernel_group[i]);
    RooflinePoint& point = points[group];
    if (point.kernel.empty()) {
      point.kernel = plan.group_names[group];
      point.stage = kernel.stage;
      point.count = 0;
      point.bound = time.bound;
      point.why = explain_bound(kernel, time, device);
    }
    point.count += std::int64_t(kernel.runs);
    point.flops += kernel.flops * kernel.runs;
    point.bytes += (kernel.read_bytes + kernel.write_bytes) * kernel.runs;
    add(point.traffic, traffic_of(kernel, device), kernel.runs);
    point.time_ms += time.time_us / 1e3;
  }
  for (RooflinePoint& point : points) {
    point.intensity = point.traffic.memory > 0 ? point.flops / point.traffic.memory : 0;
    point.gflops_per_s = point.time_ms > 0 ? point.flops / point.time_ms / 1e6 : 0;
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const RooflinePoint& a, const RooflinePoint& b) { return a.time_ms > b.time_ms; });
  return points;
}

// Every combination of the sizes swept, the last sweep fastest.
Result<std::vector<std::vector<std::string>>> combinations(const std::vector<SweepText>& sweeps) {
  std::vector<std::vector<std::string>> rows = {{}};
  for (const SweepText& sweep : sweeps) {
    std::vector<std::vector<std::string>> next;
    for (const auto& row : rows) {
      for (const std::string& value : sweep.values) {
        next.push_back(row);
        next.back().push_back(value);
        if (next.size() > kMostVariants) return bad_input("--sweep: more than 64 combinations");
      }
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace

RooflineReport report_roofline(const Plan& plan, const Request& request, const Device& device) {
  Workload workload = plan.workload;
  workload.runtime = runtime_of(request);
  RooflineReport report;
  report.workload = describe_workload(plan, request);
  report.device = device.id;
  report.device_name = device.name;
  report.warnings = plan.warnings;
  std::set<std::string_view> units;
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.flops > 0) units.insert(peak_key(device, unit_of(kernel)));
  }
  report.ceilings = ceilings_of_report(device, units);
  report.points = points_of(plan, estimate_roofline(plan, workload, device), device);
  return report;
}

Result<RooflineReport> report_operator(const Request& request, const Device& device) {
  if (!request.model.empty()) return bad_input("--operator, --sweep: take the place of MODEL; give one of them");
  Workspace workspace(kMostVariants, kMostVariants);
  FORERUN_TRY(const OperatorText base, parse_operator(request.one_operator));
  std::vector<SweepText> sweeps;
  for (const std::string& text : request.sweeps) {
    FORERUN_TRY(SweepText sweep, parse_sweep(text));
    sweeps.push_back(std::move(sweep));
  }
  FORERUN_TRY(const auto rows, combinations(sweeps));
  std::optional<RooflineReport> report;
  for (const std::vector<std::string>& row : rows) {
    OperatorText op = base;
    if (request.binding.batch) FORERUN_CHECK(set_size(op, "batch", *request.binding.batch));
    std::string variant;
    for (std::size_t i = 0; i < row.size(); ++i) {
      FORERUN_CHECK(set_size(op, sweeps[i].key, row[i]));
      variant += (variant.empty() ? "" : ", ") + sweeps[i].key + "=" + row[i];
    }
    Request one = request;
    one.binding.batch.reset();
    one.model = base.text();
    one.is_transient = true;
    FORERUN_TRY(one.network, operator_network(op));
    FORERUN_TRY(const std::shared_ptr<const Plan> plan, workspace.plan_of(one));
    RooflineReport next = report_roofline(*plan, one, device);
    for (RooflinePoint& point : next.points) point.variant = variant;
    if (!report) {
      report = std::move(next);
      report->workload.name = request.one_operator;
    } else {
      report->points.insert(report->points.end(), next.points.begin(), next.points.end());
    }
  }
  return std::move(*report);
}

}  // namespace forerun
