#include "training/trees/correction_choice.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "dataset/splits.hpp"

namespace forerun {
namespace {

constexpr std::size_t kFolds = 5, kLeastRows = 3;

}  // namespace

CorrectionChoice choose_correction(std::span<const CorrectionRow> rows, std::span<const std::string> networks) {
  CorrectionChoice choice;
  choice.correction = fit_correction(rows);
  if (rows.size() < kLeastRows) return choice;
  // Networks are kept together where there are enough of them.
  const std::vector<std::string> kinds = [&] {
    const std::set<std::string> distinct(networks.begin(), networks.end());
    return std::vector<std::string>(distinct.begin(), distinct.end());
  }();
  const auto fold_of = [&](std::size_t i) {
    if (kinds.size() < kLeastRows) return i % kFolds;
    return std::size_t(std::lower_bound(kinds.begin(), kinds.end(), networks[i]) - kinds.begin()) % kFolds;
  };
  std::vector<double> gains;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<CorrectionRow> train;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (fold_of(i) != fold) train.push_back(rows[i]);
    }
    if (train.size() == rows.size()) continue;
    const MetricCorrection fit = fit_correction(train);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (fold_of(i) != fold) continue;
      const double off = std::log(rows[i].measured / rows[i].answered);
      const double left = off - fit.log_factor(rows[i].point);
      choice.answered_error += std::abs(off) / double(rows.size());
      choice.corrected_error += std::abs(left) / double(rows.size());
      gains.push_back(std::abs(off) - std::abs(left));
    }
  }
  const double mean = choice.answered_error - choice.corrected_error;
  double square = 0;
  for (const double gain : gains) square += (gain - mean) * (gain - mean);
  choice.helps = mean > std::sqrt(square / double(gains.size() - 1) / double(gains.size()));
  return choice;
}

}  // namespace forerun
