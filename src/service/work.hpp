// What a request will compute, known before it is computed: the measure by which a server refuses a request.
#pragma once

#include <cstddef>

#include "base/result.hpp"
#include "service/request.hpp"
#include "service/workspace.hpp"

namespace forerun {

// What a search for changes counts for: it estimates some hundred workloads, most of which share their plans.
inline constexpr double kAdviseQuestions = 10;
// What a search of layouts or deployments counts for, on each device.
inline constexpr double kPlanQuestions = 3;

struct Work {
  double kernels = 0;   // of one pass
  double distinct = 0;  // kernels that differ in kind or size: each is timed by the learned predictors
  double devices = 0;
  double passes = 0;       // on each device
  double plans = 0;        // sizes for which the network is written out anew
  double simulations = 0;  // of a load, on each device

  // In timings of one kernel that was timed before, about 0.2 µs each.
  [[nodiscard]] double timings() const;
};

// `questions`: how often the request is asked, with changes.
[[nodiscard]] Work work_of(const Plan& plan, const Request& request, std::size_t devices, double questions = 1);

// Error TooCostly with the figures, and what to reduce, when the request asks for more than its `most_work`.
Status check_work(const Plan& plan, const Request& request, std::size_t devices, double questions = 1);

}  // namespace forerun
