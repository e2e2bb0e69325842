// Whether a few measurements of a device are enough to correct its answers: folds of their networks decide.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "predictors/trees/correction.hpp"

namespace forerun {

struct CorrectionChoice {
  MetricCorrection correction;
  bool helps = true;  // by more than one standard error; fewer than three rows are not judged
  double answered_error = 0, corrected_error = 0;  // mean |log(measured / answer)| on the folds; 0 where not judged
};
// REQUIRES: as many networks as rows
[[nodiscard]] CorrectionChoice choose_correction(std::span<const CorrectionRow> rows,
                                                 std::span<const std::string> networks);

}  // namespace forerun
