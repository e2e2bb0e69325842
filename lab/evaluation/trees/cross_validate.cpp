#include "evaluation/trees/cross_validate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include "base/conformal.hpp"
#include "base/on_cores.hpp"

namespace forerun {

std::vector<Fold> folds_of(const TreeRows& rows, const MetricRows& metric, SplitKind kind, std::uint64_t seed) {
  std::vector<SplitKey> keys;
  for (const std::size_t i : metric.example) keys.push_back(split_key(rows.examples[i]));
  return split(keys, kind, seed);
}

TreeFamiliarity familiarity_of(const TreeRows& rows, std::span<const std::size_t> examples) {
  // One mix per network: the mean over its rows. A network's own rows must not make it look familiar.
  std::map<std::string, std::pair<std::array<double, kKernelClasses>, int>> sums;
  for (const std::size_t i : examples) {
    auto& [sum, count] = sums[rows.examples[i].network];
    for (std::size_t c = 0; c < kKernelClasses; ++c) sum[c] += rows.inputs[i].class_share[c];
    ++count;
  }
  TreeFamiliarity f;
  for (const auto& [network, entry] : sums) {
    std::array<float, kKernelClasses> mix{};
    for (std::size_t c = 0; c < kKernelClasses; ++c) mix[c] = float(entry.first[c] / entry.second);
    f.mixes.push_back(mix);
  }
  std::vector<double> nearest;
  for (std::size_t a = 0; a < f.mixes.size(); ++a) {
    double best = 1;
    for (std::size_t b = 0; b < f.mixes.size(); ++b) {
      if (a != b) best = std::min(best, mix_distance(f.mixes[a], f.mixes[b]));
    }
    nearest.push_back(best);
  }
  f.usual = quantile(nearest, 0.5);
  f.unusual = std::max(f.usual + 0.02, quantile(nearest, 0.95));
  return f;
}

Result<HeldOut> cross_validate(const TreeRows& rows, const MetricRows& metric, SplitKind kind, std::uint64_t seed,
                               const MetricTraining& training, unsigned threads) {
  const std::vector<Fold> folds = folds_of(rows, metric, kind, seed);
  HeldOut held;
  held.predicted.assign(metric.measured.size(), 0);
  held.unfamiliarity.assign(metric.measured.size(), 0);
  held.fold.assign(metric.measured.size(), -1);
  std::mutex mutex;
  std::optional<Error> failed;
  const auto hold_out = [&](std::size_t f) {
    MetricTraining mine = training;
    mine.parameters.seed = training.parameters.seed + seed * 101 + f;
    const auto trees = train_metric(metric, folds[f].train, mine);
    if (!trees) {
      const std::lock_guard lock(mutex);
      failed = trees.error();
      return;
    }
    const Forest forest(*trees);
    std::vector<std::size_t> trained;
    for (const std::size_t i : folds[f].train) trained.push_back(metric.example[i]);
    const TreeFamiliarity familiarity = familiarity_of(rows, trained);
    for (const std::size_t i : folds[f].test) {
      const double score = forest.predict(metric.features.row(i));
      held.predicted[i] =
          training.target == TargetKind::Plain ? std::max(1e-4, score) : metric.base[i] * std::exp(score);
      held.fold[i] = int(f);
      held.unfamiliarity[i] = unfamiliarity(familiarity, rows.inputs[metric.example[i]]);
    }
  };
  on_cores(folds.size(), hold_out, threads);
  if (failed) return *failed;
  return held;
}

HeldOut cross_validate_log_linear(const TreeRows& rows, const MetricRows& metric, SplitKind kind, std::uint64_t seed) {
  HeldOut held;
  held.predicted.assign(metric.measured.size(), 0);
  held.unfamiliarity.assign(metric.measured.size(), 0);
  held.fold.assign(metric.measured.size(), -1);
  const std::vector<Fold> folds = folds_of(rows, metric, kind, seed);
  for (std::size_t f = 0; f < folds.size(); ++f) {
    const LogLinearFit fit = fit_log_linear(metric, folds[f].train);
    for (const std::size_t i : folds[f].test) {
      held.predicted[i] = fit.predict(metric.features.row(i));
      held.fold[i] = int(f);
    }
  }
  return held;
}

double conformal_half_width(const MetricRows& metric, const HeldOut& held, int left_out) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < held.predicted.size(); ++i) {
    if (held.fold[i] >= 0 && held.fold[i] != left_out)
      errors.push_back(std::abs(std::log(held.predicted[i] / metric.measured[i])));
  }
  return errors.empty() ? 1 : conformal_half_width(std::move(errors));
}

std::vector<Judged> judge(const TreeRows& rows, const MetricRows& metric, const HeldOut& held, const HeldOut* known,
                          const HeldOut* unfamiliar) {
  std::vector<Judged> judged;
  std::map<int, double> known_of, unfamiliar_of;
  for (std::size_t i = 0; i < metric.measured.size(); ++i) {
    if (held.fold[i] < 0) continue;
    const Example& e = rows.examples[metric.example[i]];
    Judged row{metric.measured[i], held.predicted[i], 0, 0, e.family, e.device, e.network};
    if (known != nullptr) {
      // The row's own fold teaches nothing about its interval.
      if (!known_of.contains(held.fold[i]))
        known_of[held.fold[i]] = conformal_half_width(metric, *known, known == &held ? held.fold[i] : -1);
      double half = known_of[held.fold[i]];
      if (unfamiliar != nullptr) {
        if (!unfamiliar_of.contains(held.fold[i]))
          unfamiliar_of[held.fold[i]] =
              conformal_half_width(metric, *unfamiliar, unfamiliar == &held ? held.fold[i] : -1);
        half += held.unfamiliarity[i] * std::max(0.0, unfamiliar_of[held.fold[i]] - half);
      }
      row.low = row.predicted * std::exp(-half);
      row.high = row.predicted * std::exp(half);
    }
    judged.push_back(std::move(row));
  }
  return judged;
}

}  // namespace forerun
