// A forest laid out level by level, every tree filled up to the depth of the deepest: children are found by arithmetic,
// and a walk has no branch. Numbers are replaced by how many thresholds of their column they reach: one byte each, so
// that many rows are compared at once. Made when a forest is read; forest.cpp walks its packed nodes where this cannot
// be used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "predictors/trees/forest.hpp"

namespace forerun {

inline constexpr std::size_t kTreeLanes = 32;  // rows evaluated together

// Place q of a level is node q mod 2^level of tree q / 2^level: its children have the places 2 q and 2 q + 1 of the
// next level.
struct LevelTrees {
  struct Level {
    std::vector<std::uint16_t> columns;  // x kTreeLanes
    std::vector<std::uint8_t> most;      // a row that reaches more thresholds of the column goes right
  };
  struct Column {
    std::uint32_t feature = 0;
    std::uint32_t first = 0, count = 0;  // its thresholds
  };
  // One column of kTreeLanes rows: how many thresholds they reach.
  struct alignas(kTreeLanes) Bytes {
    std::uint8_t lanes[kTreeLanes];
  };

  std::vector<Column> columns;    // features used by splits
  std::vector<float> thresholds;  // of each column, ascending, padded with values that none reaches
  std::vector<Level> levels;
  std::vector<float> leaves;  // the last level
  std::size_t trees = 0;      // a multiple of 8, padded with trees of value 0

  // `start` plus all trees for one row, in the order of the trees. REQUIRES: no number of the row is missing.
  [[nodiscard]] float sum(const float* row, float start) const;
  // Adds the same for many rows (row-major). REQUIRES: sums.size() is the number of rows rounded up to a multiple of
  // kTreeLanes.
  void add(std::span<const float> rows, std::size_t width, std::span<float> sums) const;
};

// Null when a tree is too deep, there are too many of them, or a feature has more thresholds than a byte can count.
[[nodiscard]] std::shared_ptr<const LevelTrees> lay_out(std::span<const TreeNode> nodes,
                                                        std::span<const std::uint32_t> roots);

}  // namespace forerun
