#include "predictors/roofline/roofline_predictor.hpp"

#include <algorithm>
#include <cmath>

#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

Estimate with_width(double value, double log_width) {
  return {value, value * std::exp(-log_width), value * std::exp(log_width), Basis::Roofline, kRooflineName};
}

// Exposed time: the longer of compute and memory, with what the smooth maximum adds; launch overhead is added.
KernelTerms terms_of(const KernelTime& time) {
  KernelTerms terms;
  terms.launch = std::min(time.launch_us, time.time_us);
  (time.compute_us >= time.memory_us ? terms.compute : terms.memory) = time.time_us - terms.launch;
  return terms;
}

}  // namespace

Answer analytic_answer(const PredictorInput& input) {
  const RooflineConstants& constants = shipped_constants();
  const RooflineEstimate& roofline = input.roofline;
  const Runtime runtime = input.workload.runtime;
  const RooflineEstimate times = eager_on_host(roofline, input.host.of(roofline.host_ms), input.device);
  const double latency = times.latency_ms(runtime), power = times.power_w(runtime);
  Answer answer;
  Estimates& e = answer.estimates;
  e.set(Metric::Latency, with_width(latency, constants.latency_width));
  e.set(Metric::Memory, with_width(roofline.memory.total_mb, constants.memory_width));
  e.set(Metric::DeviceMemory, with_width(roofline.memory.device_total_mb, constants.memory_width));
  e.set(Metric::Energy, with_width(latency / 1e3 * power, constants.energy_width));
  e.set(Metric::Power, with_width(power, constants.power_width));
  if (input.group_of.empty()) return answer;
  answer.kernels.reserve(roofline.kernels.size());
  for (const KernelTime& time : roofline.kernels) answer.kernels.push_back(terms_of(time));
  return answer;
}

std::vector<Metric> RooflinePredictor::metrics() const {
  return {Metric::Latency, Metric::Memory, Metric::DeviceMemory, Metric::Energy, Metric::Power};
}

}  // namespace forerun
