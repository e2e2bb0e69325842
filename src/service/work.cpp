#include "service/work.hpp"

#include <fmt/format.h>

#include <cmath>

#include "serving/capacity.hpp"
#include "serving/serving.hpp"

namespace forerun {
namespace {

constexpr double kDistinctWeight = 20;  // features and a forest, against looking up an equal kernel's time
constexpr double kTrialWeight = 4;      // a trial size of a capacity search also writes the network out anew
constexpr double kBisections = 8;       // CapacitySearch narrows to 1/256

double trials_of(std::int64_t most) { return std::log2(double(most)) + kBisections; }

}  // namespace

double Work::timings() const { return (kernels + kDistinctWeight * distinct) * devices * passes; }

Work work_of(const Plan& plan, const Request& request, std::size_t devices) {
  Work work{double(plan.kernels.size()), double(plan.groups.size()), double(devices), 1};
  if (request.input_tokens || request.output_tokens || request.concurrency) work.passes += ServingPasses().size();
  if (request.memory_budget_mb) {
    work.passes += kTrialWeight * trials_of(kMostBatch);
    if (request.binding.seq || request.binding.phase) work.passes += kTrialWeight * trials_of(kMostTokens);
  }
  return work;
}

Status check_work(const Plan& plan, const Request& request, std::size_t devices) {
  const Work work = work_of(plan, request, devices);
  if (work.timings() <= request.most_work) return ok();
  return Error{
      ErrorKind::TooCostly,
      fmt::format("too much for one request: {:.0f} kernels ({:.0f} distinct) x {:.0f} devices x {:.0f} passes "
                  "are {:.1f} million kernel timings, the limit is {:.1f}; ask for fewer devices, for a smaller "
                  "network, or without serving and memory_budget",
                  work.kernels, work.distinct, work.devices, work.passes, work.timings() / 1e6,
                  request.most_work / 1e6)};
}

}  // namespace forerun
