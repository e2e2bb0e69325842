// Boosted trees as they ship: packed nodes read in place from a bundle, walked without XGBoost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bundle/bundle.hpp"

namespace forerun {

// A split sends a row left when row[feature] < value; a missing number (NaN) goes where `missing_left` says. A leaf has
// children == 0 (the root of a tree is never a child) and adds `value`.
struct TreeNode {
  float value = 0;             // threshold, or the value of a leaf
  std::uint32_t children = 0;  // index of the left child; the right one follows it
  std::uint16_t feature = 0;
  std::uint16_t missing_left = 0;
};
static_assert(sizeof(TreeNode) == 12);

// Trees in memory, as training produces them.
struct TreeNodes {
  std::vector<TreeNode> nodes;
  std::vector<float> means;  // by node: mean of the leaves below it, weighted by training rows
  std::vector<std::uint32_t> roots;
  float base = 0;
};

struct LevelTrees;  // level_trees.hpp

// Evaluates trees in place. Valid as long as the bytes it was made from.
class Forest {
 public:
  Forest() = default;
  // REQUIRES: `trees` outlives the forest.
  explicit Forest(const TreeNodes& trees);
  // Sections NAME.nodes, NAME.means, NAME.roots. Checks that every child and feature is in range and that trees end.
  static Result<Forest> from_bundle(const Bundle& bundle, const std::string& name, std::size_t features);

  [[nodiscard]] float predict(std::span<const float> row) const;
  // `rows` is row-major, `width` numbers each; adds to out. Many rows walk a tree together; their answers are the same
  // to the bit.
  void predict(std::span<const float> rows, std::size_t width, std::span<float> out) const;
  // Adds each feature's contribution along the paths; base value + sum of contributions = predict().
  void add_contributions(std::span<const float> row, std::span<double> by_feature, double& base_value) const;
  [[nodiscard]] std::size_t trees() const { return roots_.size(); }

 private:
  void predict_together(std::span<const float> rows, std::size_t width, std::span<float> out) const;

  std::span<const TreeNode> nodes_;
  std::span<const float> means_;
  std::span<const std::uint32_t> roots_;
  float base_ = 0;
  // Copies, only where the bytes of a bundle were not aligned for reading in place.
  std::vector<std::shared_ptr<const void>> owned_;
  std::shared_ptr<const LevelTrees> levels_;  // the same trees laid out for walking; null where lay_out() gives none
};

// Adds the sections that from_bundle() reads.
Status add_forest(BundleWriter& writer, const std::string& name, const TreeNodes& trees);

}  // namespace forerun
