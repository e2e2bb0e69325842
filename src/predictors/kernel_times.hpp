// Makes the times of an answer's kernels add up to its latency.
#pragma once

#include "predictors/predictor.hpp"

namespace forerun {

// What an eager pass takes beyond its kernels is the host's, shared by the operators it dispatches; any other
// difference is what learning adds to the sum, or takes from it. Nothing where the answer holds no kernels.
void fit_kernels_to_latency(const PredictorInput& input, Answer& answer);

}  // namespace forerun
