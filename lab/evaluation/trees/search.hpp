// Random search for the boosting parameters of a metric, with early stopping, judged by architecture.
#pragma once

#include "evaluation/trees/tree_study.hpp"

namespace forerun {

struct SearchOptions {
  int trials = 12;          // besides the parameters that are in use
  int early_stopping = 40;  // rounds without a gain on networks kept out of training
  std::uint64_t seed = 11;
  unsigned threads = 0;
};

struct SearchResult {
  TreeParameters best;
  double mape = 0, mape_before = 0;  // of the best parameters, and of those in use
};

// The parameters in use stay unless others are clearly better (1 % of the error).
Result<SearchResult> search_parameters(const TreeRows& rows, const MetricRows& metric, const MetricTraining& in_use,
                                       const SearchOptions& options);

}  // namespace forerun
