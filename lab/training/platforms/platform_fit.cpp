#include "training/platforms/platform_fit.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/conformal.hpp"
#include "dataset/splits.hpp"

namespace forerun {
namespace {

constexpr int kSweeps = 500, kSteps = 4;
constexpr double kConverged = 1e-6;
constexpr double kFarthest = 4;  // a row farther off than this factor counts as if it were not
constexpr double kTiedRidge = 1e-4;
constexpr int kFolds = 5;
constexpr std::array kRidges = {1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0};
constexpr double kLittleWorse = 1.2;
constexpr double kLeastHalfWidth = 0.02;

using Rows = std::vector<PlatformFitRow>;

double dot(const OperatorSums& a, const OperatorSums& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kOperatorSums; ++i) sum += a[i] * b[i];
  return sum;
}

// |log(predicted / measured)|, a prediction of nothing counting as a hundredth.
double log_error(const PlatformFitRow& row, const OperatorSums& ms) {
  return std::abs(std::log(std::max(dot(row.sums, ms), 0.01 * row.measured_ms) / row.measured_ms));
}

std::size_t fold_of(const PlatformFitRow& row) { return mix_seed(row.network, 5) % kFolds; }

// Calls judge(row, rates) with every row's prediction by a fit without its fold.
template <typename Fit, typename Judge>
void cross_validate(std::span<const PlatformFitRow> rows, const Fit& fit, const Judge& judge) {
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    Rows train;
    for (const PlatformFitRow& row : rows) {
      if (fold_of(row) != fold) train.push_back(row);
    }
    if (train.empty() || train.size() == rows.size()) continue;
    const OperatorSums ms = fit(train);
    for (const PlatformFitRow& row : rows) {
      if (fold_of(row) == fold) judge(row, ms);
    }
  }
}

template <typename Fit>
std::vector<double> cv_errors(std::span<const PlatformFitRow> rows, const Fit& fit) {
  std::vector<double> errors;
  cross_validate(rows, fit,
                 [&](const PlatformFitRow& row, const OperatorSums& ms) { errors.push_back(log_error(row, ms)); });
  return errors;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 1e9 : sum / double(values.size());
}

// The largest ridge that folds of networks show little worse than the best: it carries over to other families better.
// prior_of(rows): the rates that a fit to them is drawn to.
template <typename Prior>
double best_ridge(std::span<const PlatformFitRow> rows, const Prior& prior_of) {
  std::array<double, kRidges.size()> errors{};
  for (std::size_t i = 0; i < kRidges.size(); ++i) {
    errors[i] =
        mean_of(cv_errors(rows, [&](const Rows& train) { return fit_rates(train, prior_of(train), kRidges[i]); }));
  }
  const double least = *std::min_element(errors.begin(), errors.end());
  std::size_t best = kRidges.size() - 1;
  while (best > 0 && errors[best] > kLittleWorse * least) --best;
  return kRidges[best];
}

// The factor with the least mean |log error|: the median of the ratios.
OperatorSums scaled_rates(std::span<const PlatformFitRow> rows, const OperatorSums& ms) {
  std::vector<double> ratios;
  for (const PlatformFitRow& row : rows) {
    const double predicted = dot(row.sums, ms);
    if (predicted > 0) ratios.push_back(row.measured_ms / predicted);
  }
  OperatorSums scaled = ms;
  if (ratios.empty()) return scaled;
  std::nth_element(ratios.begin(), ratios.begin() + std::ptrdiff_t(ratios.size() / 2), ratios.end());
  for (double& rate : scaled) rate *= ratios[ratios.size() / 2];
  return scaled;
}

double far_half_width(std::span<const PlatformFitRow> rows, double ridge) {
  double widest = 0;
  const auto judge = [&](const auto& is_held_out) {
    Rows train;
    std::vector<double> errors;
    for (const PlatformFitRow& row : rows) {
      if (!is_held_out(row)) train.push_back(row);
    }
    if (train.size() < 5 || train.size() == rows.size()) return;
    const OperatorSums ms = fit_rates(train, tied_rates(train), ridge);
    for (const PlatformFitRow& row : rows) {
      if (is_held_out(row)) errors.push_back(log_error(row, ms));
    }
    widest = std::max(widest, conformal_half_width(errors));
  };
  std::set<std::string> families;
  std::vector<double> gmacs;
  for (const PlatformFitRow& row : rows) {
    families.insert(row.family);
    gmacs.push_back(gmacs_of(row.sums));
  }
  for (const std::string& family : families) judge([&](const PlatformFitRow& row) { return row.family == family; });
  std::nth_element(gmacs.begin(), gmacs.begin() + std::ptrdiff_t(gmacs.size() / 2), gmacs.end());
  judge([&, middle = gmacs[gmacs.size() / 2]](const PlatformFitRow& row) { return gmacs_of(row.sums) > middle; });
  return widest;
}

// Coordinate descent from `ms`.
void solve_non_negative(const Eigen::MatrixXd& gram, const Eigen::VectorXd& target, OperatorSums& ms) {
  const Eigen::Map<const Eigen::VectorXd> rates(ms.data(), Eigen::Index(kOperatorSums));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (Eigen::Index j = 0; j < gram.rows(); ++j) {
      if (!(gram(j, j) > 0)) continue;
      double& rate = ms[std::size_t(j)];
      const double next = std::max(0.0, rate + (target(j) - gram.row(j).dot(rates)) / gram(j, j));
      moved = std::max(moved, std::abs(next - rate) * std::sqrt(gram(j, j)));
      rate = next;
    }
    if (moved < kConverged) break;
  }
}

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += char(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

}  // namespace

OperatorSums tied_rates(std::span<const PlatformFitRow> rows) {
  Rows tied(rows.begin(), rows.end());
  for (PlatformFitRow& row : tied) {
    OperatorSums sums{};
    for (std::size_t c = 0; c < kOperatorClasses; ++c) {
      for (std::size_t s = 0; s < 3; ++s) sums[s] += row.sums[3 * c + s];
    }
    sums.back() = 1;
    row.sums = sums;
  }
  OperatorSums ms = fit_rates(tied, {}, kTiedRidge);
  for (std::size_t c = 1; c < kOperatorClasses; ++c) {
    for (std::size_t s = 0; s < 3; ++s) ms[3 * c + s] = ms[s];
  }
  return ms;
}

OperatorSums fit_rates(std::span<const PlatformFitRow> rows, const OperatorSums& prior, double ridge) {
  constexpr auto kSize = Eigen::Index(kOperatorSums);
  OperatorSums ms = prior;
  // First of relative errors; then of the logarithm, linearised where the last fit lies.
  for (int step = 0; step < kSteps; ++step) {
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(kSize, kSize);
    Eigen::VectorXd target = Eigen::VectorXd::Zero(kSize), share = target;
    for (const PlatformFitRow& row : rows) {
      const double y = row.measured_ms,
                   at = step == 0 ? y : std::clamp(dot(row.sums, ms), y / kFarthest, y * kFarthest);
      const Eigen::Map<const Eigen::VectorXd> sums(row.sums.data(), kSize);
      gram += sums * sums.transpose() / (at * at) / double(rows.size());
      target += sums / at * (1 + std::log(y / at)) / double(rows.size());
      share += sums / y / double(rows.size());
    }
    // Rates are penalised by the share of time that they stand for.
    for (Eigen::Index j = 0; j < kSize; ++j) {
      const double penalty = ridge * share(j) * share(j);
      gram(j, j) += penalty;
      target(j) += penalty * prior[std::size_t(j)];
    }
    solve_non_negative(gram, target, ms);
  }
  return ms;
}

EdgeRates make_rates(std::span<const PlatformFitRow> rows, const OperatorSums& ms) {
  EdgeRates rates;
  rates.ms = ms;
  std::set<std::string> networks;
  rates.least_gmacs = 1e300;
  for (const PlatformFitRow& row : rows) {
    networks.insert(row.network);
    const double gmacs = gmacs_of(row.sums);
    rates.least_gmacs = std::min(rates.least_gmacs, gmacs);
    rates.most_gmacs = std::max(rates.most_gmacs, gmacs);
    for (std::size_t c = 0; c < kOperatorClasses && gmacs > 0; ++c)
      rates.most_share[c] = std::max(rates.most_share[c], gmacs_of(row.sums, c) / gmacs);
  }
  rates.networks = std::int64_t(networks.size());
  return rates;
}

EdgeRates fit_edge_rates(std::span<const PlatformFitRow> rows) {
  const double ridge = best_ridge(rows, tied_rates);
  const auto fit = [&](std::span<const PlatformFitRow> train) { return fit_rates(train, tied_rates(train), ridge); };
  EdgeRates rates = make_rates(rows, fit(rows));
  const std::vector<double> errors = cv_errors(rows, [&](const Rows& train) { return fit(train); });
  rates.half_width = std::max(kLeastHalfWidth, errors.empty() ? 1.0 : conformal_half_width(errors));
  rates.far_half_width = std::max(rates.half_width, far_half_width(rows, ridge));
  return rates;
}

AdaptedRates adapt_rates(std::span<const PlatformFitRow> rows, std::span<const KnownRates> known) {
  const auto nearest = [&](std::span<const PlatformFitRow>) { return known.front().ms; };
  const auto base_of = [&](std::span<const PlatformFitRow> train) {
    const KnownRates* best = &known.front();
    double least = 1e300;
    for (const KnownRates& one : known) {
      const OperatorSums ms = scaled_rates(train, one.ms);
      double error = 0;
      for (const PlatformFitRow& row : train) error += log_error(row, ms);
      if (error < least) least = error, best = &one;
    }
    return best;
  };
  const auto corrected = [&](std::span<const PlatformFitRow> train) { return scaled_rates(train, base_of(train)->ms); };
  const auto on_corrected = [&](std::span<const PlatformFitRow> train) {
    return fit_rates(train, corrected(train), best_ridge(train, corrected));
  };
  const auto linear = [&](std::span<const PlatformFitRow> train) {
    return fit_rates(train, tied_rates(train), best_ridge(train, tied_rates));
  };
  struct Candidate {
    const char* name;
    std::function<OperatorSums(std::span<const PlatformFitRow>)> fit;
  };
  const std::array<Candidate, 4> candidates = {
      {{"nearest", nearest}, {"corrected", corrected}, {"linear on corrected", on_corrected}, {"linear", linear}}};
  AdaptedRates adapted;
  std::vector<double> best;
  const Candidate* chosen = nullptr;
  for (const Candidate& candidate : candidates) {
    const std::vector<double> errors = cv_errors(rows, [&](const Rows& train) { return candidate.fit(train); });
    if (chosen == nullptr) {
      chosen = &candidate;
      best = errors;
      adapted.nearest_error = mean_of(errors);
      continue;
    }
    if (errors.size() < 3 || errors.size() != best.size()) continue;
    // Paired differences to the best so far.
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) mean += (best[i] - errors[i]) / double(errors.size());
    for (std::size_t i = 0; i < errors.size(); ++i) square += std::pow(best[i] - errors[i] - mean, 2);
    const double standard_error = std::sqrt(square / double(errors.size() - 1) / double(errors.size()));
    if (mean > standard_error) chosen = &candidate, best = errors;
  }
  adapted.rates = make_rates(rows, chosen->fit(rows));
  adapted.chosen = chosen->name;
  adapted.base = chosen == &candidates[0] ? known.front().id : chosen == &candidates[3] ? "" : base_of(rows)->id;
  adapted.cv_error = mean_of(best);
  adapted.rates.half_width = std::max(kLeastHalfWidth, best.size() < 3 ? 1.0 : conformal_half_width(best));
  adapted.rates.far_half_width = std::max(2 * adapted.rates.half_width, 0.7);
  return adapted;
}

std::size_t nearest_description(std::string_view text, std::span<const std::string> descriptions) {
  std::map<std::string, double> holders;
  std::vector<std::set<std::string>> words;
  for (const std::string& description : descriptions) {
    words.push_back(words_of(description));
    for (const std::string& word : words.back()) ++holders[word];
  }
  const std::set<std::string> asked = words_of(text);
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    double score = 0, size = 0;
    for (const std::string& word : words[i]) {
      const double weight = std::log(1 + double(descriptions.size()) / holders[word]);
      size += weight * weight;
      if (asked.contains(word)) score += weight * weight;
    }
    if (size > 0) score /= std::sqrt(size);
    if (score > most) most = score, best = i;
  }
  return best;
}

}  // namespace forerun
