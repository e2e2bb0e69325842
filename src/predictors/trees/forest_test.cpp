#include "predictors/trees/forest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace forerun {
namespace {

// One split on feature 1 at 0.5: -1 on the left, +2 on the right; then a tree that is one leaf.
TreeNodes small_trees() {
  TreeNodes trees;
  trees.nodes = {{0.5F, 1, 1, 1}, {-1, 0, 0, 0}, {2, 0, 0, 0}, {0.25F, 0, 0, 0}};
  trees.means = {0.5F, -1, 2, 0.25F};
  trees.roots = {0, 3};
  trees.base = 10;
  return trees;
}

Result<std::string> bundle_of(const TreeNodes& trees) {
  BundleManifest manifest;
  manifest.name = "test";
  manifest.kind = "trees";
  BundleWriter writer(manifest);
  FORERUN_CHECK(add_forest(writer, "f", trees));
  return writer.bytes();
}

TEST(Forest, WalksSplitsAndMissingNumbers) {
  const TreeNodes trees = small_trees();
  const Forest forest(trees);
  EXPECT_FLOAT_EQ(forest.predict(std::vector<float>{0, 0.4F}), 9.25F);
  EXPECT_FLOAT_EQ(forest.predict(std::vector<float>{0, 0.5F}), 12.25F);
  EXPECT_FLOAT_EQ(forest.predict(std::vector<float>{0, std::nanf("")}), 9.25F);
}

TEST(Forest, ContributionsNameTheFeatureAndAddUp) {
  const TreeNodes trees = small_trees();
  const Forest forest(trees);
  std::vector<double> parts(2, 0);
  double base = 0;
  forest.add_contributions(std::vector<float>{0, 0.9F}, parts, base);
  EXPECT_DOUBLE_EQ(parts[0], 0);
  EXPECT_DOUBLE_EQ(parts[1], 1.5);
  EXPECT_DOUBLE_EQ(base + parts[1], 12.25);
}

TEST(Forest, ABundleGivesTheSameAnswersAlignedOrNot) {
  const TreeNodes trees = small_trees();
  const auto bytes = bundle_of(trees);
  ASSERT_TRUE(bytes) << bytes.error().message;
  for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
    std::string moved(bytes->size() + 64, '\0');
    std::copy(bytes->begin(), bytes->end(), moved.begin() + std::ptrdiff_t(shift));
    const auto bundle = Bundle::from_bytes(std::string_view(moved).substr(shift, bytes->size()), "test");
    ASSERT_TRUE(bundle) << bundle.error().message;
    const auto forest = Forest::from_bundle(*bundle, "f", 2);
    ASSERT_TRUE(forest) << forest.error().message;
    EXPECT_FLOAT_EQ(forest->predict(std::vector<float>{0, 0.9F}), 12.25F);
  }
}

// Trees of random splits over `features`, some branches shorter than others.
TreeNodes random_trees(int trees, int depth, std::uint16_t features) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> unit(-1, 1);
  TreeNodes result;
  for (int t = 0; t < trees; ++t) {
    result.roots.push_back(std::uint32_t(result.nodes.size()));
    result.nodes.push_back({unit(random), 0, 0, 0});
    std::vector<std::pair<std::uint32_t, int>> open = {{result.roots.back(), 0}};
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto [at, level] = open[i];
      if (level == depth || (level > 1 && random() % 5 == 0)) continue;
      result.nodes[at].children = std::uint32_t(result.nodes.size());
      result.nodes[at].feature = std::uint16_t(random() % features);
      result.nodes[at].missing_left = std::uint16_t(random() % 2);
      for (int child = 0; child < 2; ++child) {
        open.emplace_back(std::uint32_t(result.nodes.size()), level + 1);
        result.nodes.push_back({unit(random), 0, 0, 0});
      }
    }
  }
  result.means.resize(result.nodes.size());
  return result;
}

float walk_plainly(const TreeNodes& trees, std::span<const float> row) {
  float sum = trees.base;
  for (std::uint32_t at : trees.roots) {
    while (trees.nodes[at].children != 0) {
      const TreeNode& node = trees.nodes[at];
      const float x = row[node.feature];
      const bool left = std::isnan(x) ? node.missing_left != 0 : x < node.value;
      at = node.children + (left ? 0U : 1U);
    }
    sum += trees.nodes[at].value;
  }
  return sum;
}

// `steps`: thresholds between 0 and 1, as from a histogram; numbers may lie on one.
void expect_the_same_to_the_bit(int depth, float steps, std::size_t rows, bool missing) {
  constexpr std::size_t kWidth = 7;
  TreeNodes trees = random_trees(21, depth, kWidth);
  for (TreeNode& node : trees.nodes) node.value = std::round(node.value * steps) / steps;
  const Forest forest(trees);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(-1, 1);
  std::vector<float> numbers(rows * kWidth);
  for (float& number : numbers) number = std::round(unit(random) * 2 * steps) / (2 * steps);
  if (missing) numbers[kWidth / 2] = std::nanf("");
  std::vector<float> many(rows, 0);
  forest.predict(numbers, kWidth, many);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> row = std::span<const float>(numbers).subspan(r * kWidth, kWidth);
    EXPECT_EQ(forest.predict(row), walk_plainly(trees, row)) << depth;
    EXPECT_EQ(many[r], walk_plainly(trees, row)) << depth << ", row " << r << " of " << rows;
  }
}

TEST(Forest, SingleAndBatchedAnswersAreBitIdenticalAlsoWithMissingValues) {
  for (const int depth : {0, 1, 3, 4, 5, 6, 8, 10, 11, 14}) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{8}, std::size_t{13}, std::size_t{64}, std::size_t{74}}) {
      for (const bool missing : {false, true}) expect_the_same_to_the_bit(depth, 50, rows, missing);
    }
  }
  expect_the_same_to_the_bit(6, 50, 2100, false);
}

TEST(Forest, AnswersTheSameWithMoreThan255Thresholds) { expect_the_same_to_the_bit(10, 1000, 40, false); }

TEST(Forest, RefusesTreesWithCyclesOrIndicesOutOfRange) {
  const auto refused = [](const TreeNodes& trees, std::size_t features) {
    const auto bytes = bundle_of(trees);
    const auto bundle = Bundle::from_bytes(*bytes, "test");
    return !Forest::from_bundle(*bundle, "f", features);
  };
  EXPECT_FALSE(refused(small_trees(), 2));
  EXPECT_TRUE(refused(small_trees(), 1)) << "a feature that does not exist";
  TreeNodes loop = small_trees();
  loop.nodes[2].children = 1;
  EXPECT_TRUE(refused(loop, 2)) << "a child before its parent";
  TreeNodes outside = small_trees();
  outside.nodes[0].children = 3;
  EXPECT_TRUE(refused(outside, 2)) << "a child behind the end";
  TreeNodes root = small_trees();
  root.roots = {9};
  EXPECT_TRUE(refused(root, 2));
  TreeNodes nan = small_trees();
  nan.nodes[1].value = std::nanf("");
  EXPECT_TRUE(refused(nan, 2));
  TreeNodes means = small_trees();
  means.means.pop_back();
  EXPECT_TRUE(refused(means, 2));
}

TEST(Forest, ATruncatedOrFlippedBundleIsRefused) {
  const auto bytes = bundle_of(small_trees());
  ASSERT_TRUE(bytes);
  EXPECT_FALSE(Bundle::from_bytes(std::string_view(*bytes).substr(0, bytes->size() - 5), "cut"));
  std::string flipped = *bytes;
  flipped[flipped.size() - 6] = char(flipped[flipped.size() - 6] ^ 0x40);
  EXPECT_FALSE(Bundle::from_bytes(flipped, "flipped"));
}

}  // namespace
}  // namespace forerun
