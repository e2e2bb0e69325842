// XGBoost through its C API: rows in, trees out. The only place that knows XGBoost.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "predictors/trees/forest.hpp"

namespace forerun {

// Row-major numbers; NaN is missing.
struct RowMatrix {
  std::size_t width = 0;
  std::vector<float> values;
  [[nodiscard]] std::size_t rows() const { return width == 0 ? 0 : values.size() / width; }
  [[nodiscard]] std::span<const float> row(std::size_t i) const { return std::span(values).subspan(i * width, width); }
  void add(std::span<const float> row) { values.insert(values.end(), row.begin(), row.end()); }
};
[[nodiscard]] RowMatrix take_rows(const RowMatrix& matrix, std::span<const std::size_t> rows);

struct TreeParameters {
  int rounds = 500;
  int max_depth = 5;
  double eta = 0.04;
  double subsample = 0.7;
  double colsample = 0.4;  // of the columns, per tree
  double min_child_weight = 3;
  double lambda = 2;
  double huber_slope = 0;  // 0: squared error; else pseudo-Huber with this slope
  int max_bins = 128;
  std::uint64_t seed = 0;
  std::vector<int> monotone;  // by column; empty: free
  int early_stopping = 0;     // rounds without improvement on the validation rows; 0: never
};

struct TrainingRows {
  const RowMatrix* features = nullptr;
  std::span<const float> targets;
  std::span<const float> weights;  // empty: all 1
};

// Trees that predict the targets. With `validation` and early_stopping the best round is kept.
Result<TreeNodes> train_trees(const TrainingRows& rows, const TreeParameters& parameters,
                              const TrainingRows* validation = nullptr);

// Boosting with the caller's own loss: before each round `gradients` gets the current scores of all rows and fills
// first and second derivatives.
using Gradients = std::function<void(std::span<const float> scores, std::span<float> first, std::span<float> second)>;
Result<TreeNodes> train_trees(const RowMatrix& features, const TreeParameters& parameters, const Gradients& gradients);

// XGBoost's own predictions with the trees it has just trained: what the walker is checked against.
struct CheckedTrees {
  TreeNodes trees;
  std::vector<float> predictions;  // of `rows`
};
Result<CheckedTrees> train_trees_checked(const TrainingRows& rows, const TreeParameters& parameters);

}  // namespace forerun
