#include "predictors/trees/level_trees.hpp"

#include <algorithm>

namespace forerun {
namespace {

constexpr int kMostDepth = 11;
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

// Walks kTreeLanes rows, whose numbers lie side by side, from their places to the end of a tree.
[[gnu::always_inline]] inline void walk(const LevelTrees::Level* level, const LevelTrees::Level* end, const float* leaves, std::size_t (&place)[kTreeLanes], const float* numbers, float* sums) {
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

// One tree. A function of its own: inlined, g++ 12 computes each lane's address anew in every step.
[[gnu::noinline]] void add_tree(const LevelTrees::Level* level, const LevelTrees::Level* end, const float* leaves, std::size_t tree, const float* numbers, float* sums) {
  std::size_t place[kTreeLanes];
  std::fill_n(place, kTreeLanes, tree);
  walk(level, end, leaves, place, numbers, sums);
}

#if defined(__x86_64__)
using Numbers = float __attribute__((vector_size(kTreeLanes * sizeof(float)), aligned(alignof(float))));
using Choices = std::int32_t __attribute__((vector_size(kTreeLanes * sizeof(std::int32_t))));  // -1 where a row goes right

constexpr std::ptrdiff_t kTopLevels = 3;

// The same; at the top all seven nodes are compared, each with one vector of numbers, instead of walking.
[[gnu::target("avx2")]] void add_tree_avx2(const LevelTrees::Level* level, const LevelTrees::Level* end, const float* leaves, std::size_t tree, const float* numbers, float* sums) {
  const auto right = [&](std::ptrdiff_t depth, std::size_t node) __attribute__((always_inline, target("avx2"))) {
    return Choices(~(*reinterpret_cast<const Numbers*>(numbers + level[depth].columns[node]) < level[depth].thresholds[node]));
  };
  const Choices first = right(0, tree);
  const Choices second = first ? right(1, 2 * tree + 1) : right(1, 2 * tree);
  const Choices low = second ? right(2, 4 * tree + 1) : right(2, 4 * tree);
  const Choices high = second ? right(2, 4 * tree + 3) : right(2, 4 * tree + 2);
  const Choices third = first ? high : low;
  const Choices start = std::int32_t(8 * tree) - (4 * first + 2 * second + third);
  std::size_t place[kTreeLanes];
#pragma GCC unroll 8
  for (std::size_t lane = 0; lane < kTreeLanes; ++lane) place[lane] = std::size_t(start[lane]);
  walk(level + kTopLevels, end, leaves, place, numbers, sums);
}
#endif

// The fastest of the above for this machine and trees so deep.
auto way_to_add(std::size_t depth) -> decltype(&add_tree) {
#if defined(__x86_64__)
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kAvx2 && std::ptrdiff_t(depth) >= kTopLevels) return add_tree_avx2;
#endif
  return add_tree;
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
  const auto add_one = way_to_add(levels.size());
  for (std::size_t tree = 0; tree < trees; ++tree) {
    for (std::size_t r = 0; r < sums.size(); r += kTreeLanes) {
      add_one(levels.data(), levels.data() + levels.size(), leaves.data(), tree, numbers.data() + r * width, sums.data() + r);
    }
  }
}

}  // namespace forerun
