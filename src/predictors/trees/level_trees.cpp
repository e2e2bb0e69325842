#include "predictors/trees/level_trees.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace forerun {
namespace {

using Bytes = LevelTrees::Bytes;

constexpr int kMostDepth = 11;
constexpr std::size_t kMostLeaves = std::size_t{1} << 22;
constexpr std::size_t kMostColumns = 65536 / kTreeLanes;
constexpr std::size_t kMostThresholds = 127;  // of a column: the same byte signed and unsigned
constexpr std::size_t kFilled = 8;            // a column's thresholds are filled up to a multiple of it
constexpr std::size_t kWalks = 8;             // interleaved walks, their positions in registers

int depth_below(std::span<const TreeNode> nodes, std::uint32_t at, int left) {
  if (nodes[at].children == 0) return 0;
  if (left == 0) return kMostDepth + 1;
  return 1 + std::max(depth_below(nodes, nodes[at].children, left - 1),
                      depth_below(nodes, nodes[at].children + 1, left - 1));
}

// The distinct splits of a forest and their numbers.
class Splits {
 public:
  struct Node {
    std::uint16_t column = 0;  // x kTreeLanes
    std::uint8_t most = 0;
  };
  explicit Splits(std::span<const TreeNode> nodes) {
    std::size_t features = 0;
    for (const TreeNode& node : nodes)
      features = std::max<std::size_t>(features, node.children == 0 ? 0 : node.feature + 1);
    const std::size_t most = std::min(features * kMostThresholds, nodes.size() / 2);
    table_.resize(std::bit_ceil(2 * most + 2));
    for (const TreeNode& node : nodes) {
      if (node.children == 0) continue;
      Entry& entry = table_[place_of(key_of(node))];
      if (entry.key != 0) continue;
      if (count_ == most) too_many_ = true;
      if (too_many_) return;
      entry = {key_of(node), node.value, {}};
      ++count_;
    }
  }
  // Numbers the columns, and the thresholds in each. False when there are too many.
  bool number(LevelTrees& trees) {
    if (too_many_) return false;
    std::vector<std::pair<std::uint64_t, Entry*>> rising;
    rising.reserve(count_);
    for (Entry& entry : table_) {
      if (entry.key != 0) rising.emplace_back(entry.key, &entry);
    }
    std::sort(rising.begin(), rising.end());
    for (const auto& [key, entry] : rising) {
      const auto feature = std::uint32_t(key >> 32);
      if (trees.columns.empty() || trees.columns.back().feature != feature) {
        fill_up(trees.thresholds);
        trees.columns.push_back({feature, std::uint32_t(trees.thresholds.size()), 0});
      }
      LevelTrees::Column& column = trees.columns.back();
      if (trees.columns.size() > kMostColumns || column.count == kMostThresholds) return false;
      entry->node = {std::uint16_t((trees.columns.size() - 1) * kTreeLanes), std::uint8_t(column.count++)};
      trees.thresholds.push_back(entry->threshold);
    }
    fill_up(trees.thresholds);
    return true;
  }
  [[nodiscard]] Node node_of(const TreeNode& split) const { return table_[place_of(key_of(split))].node; }

 private:
  struct Entry {
    std::uint64_t key = 0;  // 0: free
    float threshold = 0;
    Node node;
  };
  // Sort key: feature, then threshold. Never 0, as a threshold is not NaN.
  static std::uint64_t key_of(const TreeNode& split) {
    const auto bits = std::bit_cast<std::uint32_t>(split.value);
    return std::uint64_t(split.feature) << 32 | (bits ^ (bits >> 31 != 0 ? 0xFFFFFFFFU : 0x80000000U));
  }
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    std::size_t at = std::size_t(key * 0x9E3779B97F4A7C15ULL >> 32) & (table_.size() - 1);
    while (table_[at].key != 0 && table_[at].key != key) at = (at + 1) & (table_.size() - 1);
    return at;
  }
  static void fill_up(std::vector<float>& thresholds) {
    thresholds.resize((thresholds.size() + kFilled - 1) / kFilled * kFilled, std::numeric_limits<float>::quiet_NaN());
  }
  std::vector<Entry> table_;  // open addressing, half full at most
  std::size_t count_ = 0;
  bool too_many_ = false;
};

// Copies the subtree at `at` to a position of a level; a leaf fills all leaves below it.
void fill(LevelTrees& trees, const Splits& splits, std::span<const TreeNode> nodes, std::uint32_t at, std::size_t level,
          std::size_t place) {
  const TreeNode& node = nodes[at];
  if (node.children == 0) {
    const std::size_t below = trees.levels.size() - level;
    std::fill_n(trees.leaves.begin() + std::ptrdiff_t(place << below), std::size_t{1} << below, node.value);
    return;
  }
  const Splits::Node split = splits.node_of(node);
  trees.levels[level].columns[place] = split.column;
  trees.levels[level].most[place] = split.most;
  fill(trees, splits, nodes, node.children, level + 1, 2 * place);
  fill(trees, splits, nodes, node.children + 1, level + 1, 2 * place + 1);
}

// One tree of the forest, level by level.
struct Tree {
  const LevelTrees::Level* levels;
  std::size_t depth;
  const float* leaves;
  std::size_t tree;
};

// Walks kWalks rows from their nodes on a level down to the leaves.
[[gnu::always_inline]] inline void walk(const Tree& tree, std::size_t level, const std::uint8_t* from,
                                        const std::uint8_t* bytes, float* sums) {
  std::size_t place[kWalks];
#pragma GCC unroll 8
  for (std::size_t lane = 0; lane < kWalks; ++lane) place[lane] = (tree.tree << level) + from[lane];
  for (; level < tree.depth; ++level) {
    const std::uint16_t* const columns = tree.levels[level].columns.data();
    const std::uint8_t* const most = tree.levels[level].most.data();
#pragma GCC unroll 8  // places stay in registers
    for (std::size_t lane = 0; lane < kWalks; ++lane) {
      const std::size_t at = place[lane];
      place[lane] = 2 * at + (most[at] < bytes[columns[at] + lane] ? 1 : 0);
    }
  }
#pragma GCC unroll 8
  for (std::size_t lane = 0; lane < kWalks; ++lane) sums[lane] += tree.leaves[place[lane]];
}

// The functions that walk are not inlined: g++ 12 would compute each lane's address anew in every step.
[[gnu::noinline]] void walk_plainly(const Tree& tree, const std::uint8_t* bytes, float* sums) {
  constexpr std::uint8_t kRoots[kWalks] = {};
  walk(tree, 0, kRoots, bytes, sums);
}

// One tree for `rows` rows, kTreeLanes at most, rounded up to a multiple of kWalks.
void add_tree(const Tree& tree, const std::uint8_t* bytes, std::size_t rows, float* sums) {
  for (std::size_t r = 0; r < rows; r += kWalks) walk_plainly(tree, bytes + r, sums + r);
}

// Number of thresholds that a value reaches. Reads the padding too.
std::uint8_t reached(const float* thresholds, std::size_t count, float number) {
  using Floats = float __attribute__((vector_size(16)));
  using Counts = std::int32_t __attribute__((vector_size(16)));
  Counts sums = {};
  for (std::size_t t = 0; t < count; t += 4) {
    Floats some;
    std::memcpy(&some, thresholds + t, sizeof some);  // not aligned
    sums -= Counts(some <= number);
  }
  return std::uint8_t(sums[0] + sums[1] + sums[2] + sums[3]);
}

// The same for each of kTreeLanes numbers.
void reached_by_all(const float* thresholds, std::size_t count, const float* numbers, Bytes& bytes) {
  for (std::size_t lane = 0; lane < kTreeLanes; ++lane) bytes.lanes[lane] = reached(thresholds, count, numbers[lane]);
}

#if defined(__x86_64__)
using Choices = signed char __attribute__((vector_size(kTreeLanes)));  // -1 where a row goes right
using Floats = float __attribute__((vector_size(kFilled * sizeof(float))));
using Counts = std::int32_t __attribute__((vector_size(kFilled * sizeof(std::int32_t))));

[[gnu::target("avx2")]] std::uint8_t reached_avx2(const float* thresholds, std::size_t count, float number) {
  Counts sums = {};
  for (std::size_t t = 0; t < count; t += kFilled) {
    Floats some;
    std::memcpy(&some, thresholds + t, sizeof some);  // not aligned
    sums -= Counts(some <= number);
  }
  return std::uint8_t(sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7]);
}

[[gnu::target("avx2")]] void reached_by_all_avx2(const float* thresholds, std::size_t count, const float* numbers,
                                                 Bytes& bytes) {
  Floats all[kTreeLanes / kFilled];
  std::memcpy(all, numbers, sizeof all);  // not aligned
  Counts sums[kTreeLanes / kFilled] = {};
  for (std::size_t t = 0; t < count; ++t) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kTreeLanes / kFilled; ++v) sums[v] -= Counts(all[v] >= thresholds[t]);
  }
  for (std::size_t lane = 0; lane < kTreeLanes; ++lane)
    bytes.lanes[lane] = std::uint8_t(sums[lane / kFilled][lane % kFilled]);
}

[[gnu::target("avx2"), gnu::noinline]] void walk_avx2(const Tree& tree, std::size_t level, const std::uint8_t* from,
                                                      const std::uint8_t* bytes, float* sums) {
  walk(tree, level, from, bytes, sums);
}

// Bit mask of the rows that go right at node `node` of level kLevel, or at the descendants they reach.
template <std::size_t kLevel, std::size_t kEnd>
[[gnu::target("avx2"), gnu::always_inline]] inline Choices right(const Tree& tree, std::size_t node,
                                                                 const Choices* choices, const std::uint8_t* bytes) {
  if constexpr (kLevel == kEnd) {
    const std::size_t at = (tree.tree << kLevel) + node;
    return Choices(*reinterpret_cast<const Choices*>(bytes + tree.levels[kLevel].columns[at]) >
                   static_cast<signed char>(tree.levels[kLevel].most[at]));
  } else {
    return choices[kLevel] ? right<kLevel + 1, kEnd>(tree, 2 * node + 1, choices, bytes)
                           : right<kLevel + 1, kEnd>(tree, 2 * node, choices, bytes);
  }
}

// The same, but on the top levels every node is compared with all rows instead of walking.
template <std::size_t kTop>
[[gnu::target("avx2")]] void add_tree_avx2(const Tree& tree, const std::uint8_t* bytes, std::size_t rows, float* sums) {
  Choices choices[kTop], taken = {};
  [&]<std::size_t... kLevel>(std::index_sequence<kLevel...>) __attribute__((always_inline, target("avx2"))) {
    ((choices[kLevel] = right<0, kLevel>(tree, 0, choices, bytes), taken = taken + taken - choices[kLevel]), ...);
  }
  (std::make_index_sequence<kTop>());
  alignas(Choices) std::uint8_t top[kTreeLanes];
  *reinterpret_cast<Choices*>(top) = taken;
  for (std::size_t r = 0; r < rows; r += kWalks) walk_avx2(tree, kTop, top + r, bytes + r, sums + r);
}
#endif

// The fastest of the above for this CPU and depth.
struct Ways {
  decltype(&add_tree) add = add_tree;
  decltype(&reached) count = reached;
  decltype(&reached_by_all) count_all = reached_by_all;
};

Ways ways_for(std::size_t depth) {
#if defined(__x86_64__)
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  constexpr std::array kAdd = {add_tree,         add_tree,         add_tree,        add_tree_avx2<3>,
                               add_tree_avx2<4>, add_tree_avx2<5>, add_tree_avx2<6>};
  if (kAvx2) return {kAdd[std::min(depth, kAdd.size() - 1)], reached_avx2, reached_by_all_avx2};
#endif
  return {};
}

}  // namespace

std::shared_ptr<const LevelTrees> lay_out(std::span<const TreeNode> nodes, std::span<const std::uint32_t> roots) {
  int depth = 0;
  for (const std::uint32_t root : roots) depth = std::max(depth, depth_below(nodes, root, kMostDepth));
  if (depth > kMostDepth || roots.size() << depth > kMostLeaves) return nullptr;
  if (std::any_of(nodes.begin(), nodes.end(), [](const TreeNode& node) { return std::isnan(node.value); }))
    return nullptr;
  Splits splits(nodes);
  auto trees = std::make_shared<LevelTrees>();
  if (!splits.number(*trees)) return nullptr;
  trees->trees = (roots.size() + kWalks - 1) / kWalks * kWalks;
  for (int level = 0; level < depth; ++level) {
    const std::size_t places = trees->trees << level;
    trees->levels.push_back({std::vector<std::uint16_t>(places), std::vector<std::uint8_t>(places)});
  }
  trees->leaves.resize(trees->trees << depth);
  for (std::size_t t = 0; t < roots.size(); ++t) fill(*trees, splits, nodes, roots[t], 0, t);
  return trees;
}

float LevelTrees::sum(const float* row, float start) const {
  const Ways ways = ways_for(levels.size());
  std::vector<std::uint8_t> bytes(columns.size() * kTreeLanes);
  for (std::size_t c = 0; c < columns.size(); ++c)
    bytes[c * kTreeLanes] = ways.count(thresholds.data() + columns[c].first, columns[c].count, row[columns[c].feature]);
  for (std::size_t first = 0; first < trees; first += kWalks) {
    std::size_t place[kWalks];
    for (std::size_t lane = 0; lane < kWalks; ++lane) place[lane] = first + lane;
    for (const Level& level : levels) {
      const std::uint16_t* const column = level.columns.data();
      const std::uint8_t* const most = level.most.data();
#pragma GCC unroll 8  // places stay in registers
      for (std::size_t lane = 0; lane < kWalks; ++lane) {
        const std::size_t at = place[lane];
        place[lane] = 2 * at + (most[at] < bytes[column[at]] ? 1 : 0);
      }
    }
    for (const std::size_t leaf : place) start += leaves[leaf];
  }
  return start;
}

void LevelTrees::add(std::span<const float> rows, std::size_t width, std::span<float> sums) const {
  const Ways ways = ways_for(levels.size());
  const std::size_t count = rows.size() / width;
  std::vector<Bytes> bytes(std::max<std::size_t>(1, sums.size() / kTreeLanes * columns.size()));
  float numbers[kTreeLanes] = {};
  for (std::size_t r = 0; r < count; r += kTreeLanes) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const float* const first = rows.data() + r * width + columns[c].feature;
      for (std::size_t lane = 0; lane < std::min(kTreeLanes, count - r); ++lane) numbers[lane] = first[lane * width];
      ways.count_all(thresholds.data() + columns[c].first, columns[c].count, numbers,
                     bytes[r / kTreeLanes * columns.size() + c]);
    }
  }
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  for (std::size_t tree = 0; tree < trees; ++tree) {
    for (std::size_t r = 0; r < count; r += kTreeLanes) {
      ways.add({levels.data(), levels.size(), leaves.data(), tree}, first + r * columns.size(),
               std::min(kTreeLanes, count - r), sums.data() + r);
    }
  }
}

}  // namespace forerun
