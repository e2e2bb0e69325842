// Held-out predictions of a metric under a named split, with intervals made from other folds' errors.
#pragma once

#include <span>
#include <vector>

#include "dataset/splits.hpp"
#include "evaluation/accuracy.hpp"
#include "training/trees/tree_trainer.hpp"

namespace forerun {

struct HeldOut {
  std::vector<double> predicted;  // by row of MetricRows
  std::vector<int> fold;
  std::vector<double> unfamiliarity;  // of each row against its fold's training rows, see unfamiliarity()
};

// The named split of a metric's rows.
[[nodiscard]] std::vector<Fold> folds_of(const TreeRows& rows, const MetricRows& metric, SplitKind kind,
                                         std::uint64_t seed);

// Runs on `threads` cores (0: all). Deterministic for a seed.
Result<HeldOut> cross_validate(const TreeRows& rows, const MetricRows& metric, SplitKind kind, std::uint64_t seed,
                               const MetricTraining& training, unsigned threads = 0);

// Baselines on the same folds.
[[nodiscard]] HeldOut cross_validate_log_linear(const TreeRows& rows, const MetricRows& metric, SplitKind kind,
                                                std::uint64_t seed);

// The 90 % quantile of |log(predicted / measured)|, as conformal prediction takes it; rows of `left_out` are not used.
[[nodiscard]] double conformal_half_width(const MetricRows& metric, const HeldOut& held, int left_out = -1);

// Judged rows with intervals: half width from the other folds' errors (`known`); with `unfamiliar` (errors when a
// family is left out) it widens with a row's unfamiliarity, as the shipped predictor does.
[[nodiscard]] std::vector<Judged> judge(const TreeRows& rows, const MetricRows& metric, const HeldOut& held,
                                        const HeldOut* known, const HeldOut* unfamiliar);

// The training networks' mixes and usual distances of one domain.
[[nodiscard]] TreeFamiliarity familiarity_of(const TreeRows& rows, std::span<const std::size_t> examples);

}  // namespace forerun
