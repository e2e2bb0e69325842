// A platform's rates from its measured rows: least squares of logarithms with rates that are not negative.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "predictors/edge/edge_platform.hpp"

namespace forerun {

struct PlatformFitRow {
  OperatorSums sums{};
  double measured_ms = 0;
  std::string network, family;
};

// Minimises the mean of log(sums · ms / measured)² + ridge Σ (share of time that ms differs from prior by)², ms >= 0.
// REQUIRES: rows, all with a positive time
[[nodiscard]] OperatorSums fit_rates(std::span<const PlatformFitRow> rows, const OperatorSums& prior, double ridge);

// Rates that are the same for all classes of operators: what a class is drawn to that few rows tell about.
[[nodiscard]] OperatorSums tied_rates(std::span<const PlatformFitRow> rows);

// What of measured networks an EdgeRates keeps, and the rates of fit_rates.
[[nodiscard]] EdgeRates make_rates(std::span<const PlatformFitRow> rows, const OperatorSums& ms);

// The rates fitted to all rows with the ridge that five folds of networks choose, and intervals: of the folds for
// networks alike; for others of families and of the larger half, each left out of the fit.
[[nodiscard]] EdgeRates fit_edge_rates(std::span<const PlatformFitRow> rows);

// How a few rows of a new platform are turned into rates. Candidates in order, simplest first; a later one is taken
// only where folds of networks show it better by more than one standard error.
struct AdaptedRates {
  EdgeRates rates;
  std::string chosen;                      // "nearest", "corrected", "linear on corrected" or "linear"
  std::string base;                        // id of the platform it builds on
  double cv_error = 0, nearest_error = 0;  // mean |log(predicted / measured)| over the folds
};
struct KnownRates {
  std::string id;
  OperatorSums ms{};
};
// `known` starts with the platform that answers without rows (zero-shot). REQUIRES: both are not empty
[[nodiscard]] AdaptedRates adapt_rates(std::span<const PlatformFitRow> rows, std::span<const KnownRates> known);

// The platform whose description shares most with `text`: words weighted by how few descriptions hold them.
[[nodiscard]] std::size_t nearest_description(std::string_view text, std::span<const std::string> descriptions);

}  // namespace forerun
