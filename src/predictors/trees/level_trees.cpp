#include "predictors/trees/level_trees.hpp"

#include <algorithm>

namespace forerun {
namespace {

constexpr int kMostDepth = 10;
constexpr std::size_t kMostLeaves = std::size_t{1} << 22;
constexpr std::uint16_t kMostFeature = 65535 / kTreeLanes;

int depth_below(std::span<const TreeNode> nodes, std::uint32_t at, int left) {
  if (nodes[at].children == 0) return 0;
  if (left == 0 || nodes[at].feature > kMostFeature) return kMostDepth + 1;
  return 1 + std::max(depth_below(nodes, nodes[at].children, left - 1), depth_below(nodes, nodes[at].children + 1, left - 1));
}

// Puts the tree below `at` to a place of a level; a leaf fills all places below it.
void fill(LevelTrees& trees, std::span<const TreeNode> nodes, std::uint32_t at, std::size_t level, std::size_t place) {
  const TreeNode& node = nodes[at];
  if (level == trees.levels.size()) {
    trees.leaves[place] = node.value;
    return;
  }
  const bool is_leaf = node.children == 0;
  if (!is_leaf) {
    trees.levels[level].thresholds[place] = node.value;
    trees.levels[level].columns[place] = std::uint16_t(node.feature * kTreeLanes);
  }
  fill(trees, nodes, is_leaf ? at : node.children, level + 1, 2 * place);
  fill(trees, nodes, is_leaf ? at : node.children + 1, level + 1, 2 * place + 1);
}

// One tree for kTreeLanes rows whose numbers lie side by side. A function of its own: inlined, g++ 12 computes each lane's
// address anew in every step.
[[gnu::noinline]] void add_tree(const LevelTrees::Level* level, const LevelTrees::Level* end, const float* leaves, std::size_t tree,
                                const float* numbers, float* sums) {
  std::size_t place[kTreeLanes];
  std::fill_n(place, kTreeLanes, tree);
  for (; level != end; ++level) {
    const float* const thresholds = level->thresholds.data();
    const std::uint16_t* const columns = level->columns.data();
#pragma GCC unroll 8  // places stay in registers
    for (std::size_t lane = 0; lane < kTreeLanes; ++lane) {
      const std::size_t at = place[lane];
      place[lane] = 2 * at + (numbers[columns[at] + lane] < thresholds[at] ? 0 : 1);
    }
  }
  for (std::size_t lane = 0; lane < kTreeLanes; ++lane) sums[lane] += leaves[place[lane]];
}

}  // namespace

std::shared_ptr<const LevelTrees> lay_out(std::span<const TreeNode> nodes, std::span<const std::uint32_t> roots) {
  int depth = 0;
  for (const std::uint32_t root : roots) depth = std::max(depth, depth_below(nodes, root, kMostDepth));
  if (depth > kMostDepth || roots.size() << depth > kMostLeaves) return nullptr;
  auto trees = std::make_shared<LevelTrees>();
  trees->trees = (roots.size() + kTreeLanes - 1) / kTreeLanes * kTreeLanes;
  for (int level = 0; level < depth; ++level) {
    const std::size_t places = trees->trees << level;
    trees->levels.push_back({std::vector<float>(places), std::vector<std::uint16_t>(places)});
  }
  trees->leaves.resize(trees->trees << depth);
  for (std::size_t t = 0; t < roots.size(); ++t) fill(*trees, nodes, roots[t], 0, t);
  return trees;
}

float LevelTrees::sum(const float* row, float start) const {
  for (std::size_t first = 0; first < trees; first += kTreeLanes) {
    std::size_t place[kTreeLanes];
    for (std::size_t lane = 0; lane < kTreeLanes; ++lane) place[lane] = first + lane;
    for (const Level& level : levels) {
      const float* const thresholds = level.thresholds.data();
      const std::uint16_t* const columns = level.columns.data();
#pragma GCC unroll 8  // places stay in registers
      for (std::size_t lane = 0; lane < kTreeLanes; ++lane) {
        const std::size_t at = place[lane];
        place[lane] = 2 * at + (row[columns[at] / kTreeLanes] < thresholds[at] ? 0 : 1);
      }
    }
    for (const std::size_t leaf : place) start += leaves[leaf];
  }
  return start;
}

void LevelTrees::add(std::span<const float> rows, std::size_t width, std::span<float> sums) const {
  // A feature of kTreeLanes rows side by side: one base address for all lanes.
  std::vector<float> numbers(sums.size() * width);
  for (std::size_t r = 0; r * width < rows.size(); ++r) {
    float* const number = numbers.data() + r / kTreeLanes * kTreeLanes * width + r % kTreeLanes;
    for (std::size_t c = 0; c < width; ++c) number[c * kTreeLanes] = rows[r * width + c];
  }
  for (std::size_t tree = 0; tree < trees; ++tree) {
    for (std::size_t r = 0; r < sums.size(); r += kTreeLanes) {
      add_tree(levels.data(), levels.data() + levels.size(), leaves.data(), tree, numbers.data() + r * width, sums.data() + r);
    }
  }
}

}  // namespace forerun
