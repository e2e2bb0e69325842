// The nearest change of a request with which a device keeps what it misses: candidates in a fixed order, each estimated
// as a request of its own.
#pragma once

#include <functional>

#include "service/report.hpp"
#include "service/request.hpp"
#include "service/target.hpp"

namespace forerun {

// How often a request with remedies is estimated at most, for the measure of work.
inline constexpr double kRemedyQuestions = 16;

using AskFunction = std::function<Result<PredictReport>(const Request&)>;

// Fills in `limits->remedies` of the results that miss something: the first candidate that keeps the number format and
// the first that changes it. REQUIRES: every result has limits; `targets` are parallel to the results.
Status find_remedies(const Request& request, const Targets& targets, const AskFunction& ask, PredictReport& report);

}  // namespace forerun
