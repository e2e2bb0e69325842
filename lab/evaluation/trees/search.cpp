#include "evaluation/trees/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <random>

#include "base/on_cores.hpp"

namespace forerun {
namespace {

constexpr int kMostRounds = 800;
constexpr double kClearGain = 0.99;

template <typename T, std::size_t N>
T pick(const std::array<T, N>& of, std::mt19937_64& random) {
  return of[random() % N];
}

TreeParameters draw(const TreeParameters& in_use, std::mt19937_64& random) {
  TreeParameters p = in_use;
  p.rounds = kMostRounds;
  p.max_depth = pick(std::array{3, 4, 5, 6}, random);
  p.eta = pick(std::array{0.03, 0.05, 0.08}, random);
  p.subsample = pick(std::array{0.5, 0.7, 0.85}, random);
  p.colsample = pick(std::array{0.15, 0.3, 0.5}, random);
  p.min_child_weight = pick(std::array{1.0, 3.0, 6.0, 12.0}, random);
  p.lambda = pick(std::array{1.0, 2.0, 5.0}, random);
  p.huber_slope = pick(std::array{0.0, 0.05, 0.15}, random);
  return p;
}

struct Score {
  double mape = 0;
  int rounds = 0;
};

// Five folds of networks; without `stop` a fold trains for the parameters' rounds, else until networks kept aside stop
// gaining.
Result<Score> score(const TreeRows& rows, const MetricRows& metric, TreeParameters p, const SearchOptions& options,
                    bool stop) {
  double sum = 0;
  std::vector<int> rounds;
  for (const Fold& fold : folds_of(rows, metric, SplitKind::ByArchitecture, options.seed)) {
    std::vector<std::size_t> train, aside;
    for (const std::size_t i : fold.train)
      (stop && mix_seed(rows.examples[metric.example[i]].network, options.seed) % 6 == 0 ? aside : train).push_back(i);
    const auto part = [&](const std::vector<std::size_t>& of, std::vector<float>& targets) {
      for (const std::size_t i : of) targets.push_back(metric.log_ratio[i]);
      return take_rows(metric.features, of);
    };
    std::vector<float> targets, aside_targets;
    const RowMatrix features = part(train, targets), aside_features = part(aside, aside_targets);
    const TrainingRows validation{&aside_features, aside_targets, {}};
    p.early_stopping = stop ? options.early_stopping : 0;
    FORERUN_TRY(const TreeNodes trees, train_trees({&features, targets, {}}, p, stop ? &validation : nullptr));
    rounds.push_back(int(trees.roots.size()));
    const Forest forest(trees);
    for (const std::size_t i : fold.test)
      sum +=
          std::abs(metric.base[i] * std::exp(double(forest.predict(metric.features.row(i)))) / metric.measured[i] - 1);
  }
  std::sort(rounds.begin(), rounds.end());
  return Score{100 * sum / double(metric.measured.size()), rounds[rounds.size() / 2]};
}

}  // namespace

Result<SearchResult> search_parameters(const TreeRows& rows, const MetricRows& metric, const MetricTraining& in_use,
                                       const SearchOptions& options) {
  std::vector<TreeParameters> trials = {in_use.parameters};
  std::mt19937_64 random(options.seed);
  for (int t = 0; t < options.trials; ++t) trials.push_back(draw(in_use.parameters, random));
  std::vector<Score> scores(trials.size());
  std::mutex mutex;
  std::optional<Error> failed;
  const auto try_one = [&](std::size_t t) {
    const auto made = score(rows, metric, trials[t], options, t > 0);
    const std::lock_guard lock(mutex);
    if (made)
      scores[t] = *made;
    else
      failed = made.error();
  };
  on_cores(trials.size(), try_one, options.threads);
  if (failed) return *failed;
  SearchResult result{trials[0], scores[0].mape, scores[0].mape};
  for (std::size_t t = 1; t < trials.size(); ++t) {
    if (scores[t].mape >= std::min(result.mape, kClearGain * scores[0].mape)) continue;
    result.best = trials[t];
    // All networks train at last: a little more data carries a little more rounds.
    result.best.rounds = int(std::lround(1.1 * std::max(20, scores[t].rounds)));
    result.mape = scores[t].mape;
  }
  result.best.early_stopping = 0;
  return result;
}

}  // namespace forerun
