#include "predictors/kernel_times.hpp"

namespace forerun {

void fit_kernels_to_latency(const PredictorInput& input, Answer& answer) {
  double device_us = 0, dispatches = 0;
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    device_us += answer.kernels[i].total();
    dispatches += input.kernels[i].host_ops * input.kernels[i].runs;
  }
  const double exposed_us = 1e3 * answer.estimates.at(Metric::Latency).value - device_us;
  const bool waits_for_host = exposed_us > 0 && dispatches > 0 && input.workload.runtime == Runtime::Eager;
  for (std::size_t i = 0; i < answer.kernels.size(); ++i) {
    KernelTerms& terms = answer.kernels[i];
    if (waits_for_host) {
      terms.host = exposed_us * input.kernels[i].host_ops * input.kernels[i].runs / dispatches;
    } else if (device_us > 0) {
      terms.learned += exposed_us * terms.total() / device_us;
    }
  }
}

}  // namespace forerun
