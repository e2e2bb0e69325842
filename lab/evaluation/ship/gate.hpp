// Whether a candidate may replace the bundle that ships: no worse beyond noise, and its intervals calibrated.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evaluation/report.hpp"
#include "evaluation/ship/bundle_answers.hpp"

namespace forerun {

// Noise: runs of one network err alike, so networks are the sample. Of a difference of errors: networks are drawn with
// replacement kResamples times, and the noise is the range of the central kCentral share of the draws. Of a coverage:
// Wilson's interval of the same confidence, which does not collapse where every run is covered.
inline constexpr int kResamples = 2000;
inline constexpr double kCentral = 0.99, kNormalQuantile = 2.5758;
// Worse: the difference of mean absolute percentage errors lies above this share of the shipped one's, noise allowed
// for.
inline constexpr double kToleratedShare = 0.01;
// Calibrated: the share of measurements inside their 90 % interval lies within these bounds, noise allowed for.
inline constexpr double kLowestCoverage = 85, kHighestCoverage = 97;  // %

struct GateOptions {
  std::size_t fewest_networks = 10;  // of a group that is judged; smaller ones are shown only
};

struct GateRow {
  std::string group;
  std::size_t rows = 0, networks = 0;
  double candidate = 0, against = 0;                           // MAPE, %
  double difference_low = 0, difference_high = 0;              // of candidate - against, percentage points
  double coverage = 0, coverage_low = 0, coverage_high = 100;  // %
  bool is_judged = true;
  std::vector<std::string> refusals;
};

struct GateResult {
  std::vector<GateRow> rows;
  [[nodiscard]] bool has_passed() const;  // something was judged, and nothing refused
};

// Rows are compared where both answer; what only `against` answers refuses the candidate.
[[nodiscard]] GateResult judge_candidate(const BundleAnswers& candidate, const BundleAnswers& against,
                                         const GateOptions& options = {});
[[nodiscard]] ReportSection gate_section(const GateResult& result, const std::string& candidate,
                                         const std::string& against);

}  // namespace forerun
