// Scales the kernel times of an answer so that they add up to its latency.
#pragma once

#include "predictors/predictor.hpp"

namespace forerun {

// Eager latency beyond the kernel times is host time, divided among the kernels by dispatched operators. Any other
// difference goes to the term `learned`. Does nothing where the answer holds no kernels.
void fit_kernels_to_latency(const PredictorInput& input, Answer& answer);

}  // namespace forerun
