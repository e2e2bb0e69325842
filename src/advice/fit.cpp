#include <algorithm>

#include "advice/advice.hpp"

namespace forerun {

double needed_memory_mb(const Estimates& estimates) {
  const double pass_mb = estimates.at(Metric::DeviceMemory).value;
  const Estimate* serving = estimates.find(Metric::ServingMemory);
  return serving == nullptr ? pass_mb : std::max(pass_mb, serving->value);
}

Status advise_fit(const AdviceInput& input, Advice& advice, std::vector<std::string>&) {
  advice.fits = needed_memory_mb(input.estimates) <= input.device.memory_gib * 1024;
  return ok();
}

}  // namespace forerun
