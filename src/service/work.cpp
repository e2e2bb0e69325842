#include "service/work.hpp"

#include <fmt/format.h>

#include <cmath>

#include "service/serving_question.hpp"
#include "serving/capacity.hpp"

namespace forerun {
namespace {

// Against looking up the time of a kernel equal to one that was timed.
constexpr double kDistinctWeight = 20;  // features and a forest
constexpr double kPlanWeight = 10;      // writing the network out, shapes, costs
constexpr double kSimulationWeight = 50'000;

constexpr double kServingPlans = 40;  // the table of passes that a simulation interpolates in
constexpr double kLimitTrials = 30;   // loads simulated to find the highest rate under limits of latency
constexpr double kTrialWeight = 4;    // a trial size of a capacity search, whose plan devices partly share
constexpr double kBisections = 8;     // CapacitySearch narrows to 1/256

double trials_of(std::int64_t most) { return std::log2(double(most)) + kBisections; }

}  // namespace

double Work::timings() const {
  return (kernels + kDistinctWeight * distinct) * devices * passes + kPlanWeight * kernels * plans +
         kSimulationWeight * devices * simulations;
}

Work work_of(const Plan& plan, const Request& request, std::size_t devices, double questions) {
  Work work{double(plan.kernels.size()), double(plan.groups.size()), double(devices), 1, 1, 0};
  if (asks_for_serving(request)) {
    work.plans += kServingPlans;
    work.simulations = request.slo_ttft_ms || request.slo_tpot_ms ? kLimitTrials : 1;
  }
  if (request.memory_budget_mb) {
    work.passes += kTrialWeight * trials_of(kMostBatch);
    if (request.binding.seq || request.binding.phase) work.passes += kTrialWeight * trials_of(kMostTokens);
  }
  if (request.runtimes) ++work.passes;
  work.passes *= questions;
  work.plans *= questions;
  work.simulations *= questions;
  return work;
}

Status check_work(const Plan& plan, const Request& request, std::size_t devices, double questions) {
  const Work work = work_of(plan, request, devices, questions);
  if (work.timings() <= request.most_work) return ok();
  return Error{
      ErrorKind::TooCostly,
      fmt::format("too much for one request: {:.0f} kernels ({:.0f} distinct) x {:.0f} devices x {:.0f} passes, "
                  "{:.0f} sizes and {:.0f} simulations are {:.1f} million kernel timings, the limit is {:.1f}; "
                  "ask for fewer devices, for a smaller network, or without serving and memory_budget",
                  work.kernels, work.distinct, work.devices, work.passes, work.plans, work.simulations * work.devices,
                  work.timings() / 1e6, request.most_work / 1e6)};
}

}  // namespace forerun
