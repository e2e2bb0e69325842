// What a request will compute, known before it is computed: the measure by which a server refuses a request.
#pragma once

#include <cstddef>

#include "base/result.hpp"
#include "service/request.hpp"
#include "service/workspace.hpp"

namespace forerun {

struct Work {
  double kernels = 0;   // of one pass
  double distinct = 0;  // kernels that differ in kind or size: each is timed by the learned predictors
  double devices = 0;
  double passes = 0;  // on each device

  // In timings of one kernel that was timed before, about 0.2 µs each.
  [[nodiscard]] double timings() const;
};

[[nodiscard]] Work work_of(const Plan& plan, const Request& request, std::size_t devices);

// Error TooCostly with the figures, and what to reduce, when the request asks for more than its `most_work`.
Status check_work(const Plan& plan, const Request& request, std::size_t devices);

}  // namespace forerun
