#include "predictors/trees/forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "predictors/trees/level_trees.hpp"

namespace forerun {
namespace {

template <typename T>
Result<std::span<const T>> view_of(const Bundle& bundle, const std::string& name,
                                   std::vector<std::shared_ptr<const void>>& owned) {
  FORERUN_TRY(const std::string_view bytes, bundle.section(name));
  if (bytes.size() % sizeof(T) != 0)
    return bad_input(bundle.file_name() + ": section " + name + " does not have the expected size");
  const std::size_t count = bytes.size() / sizeof(T);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0) {
    return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), count);
  }
  auto copy = std::make_shared<std::vector<T>>(count);
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  const std::span<const T> view(*copy);
  owned.push_back(std::move(copy));
  return view;
}

std::uint32_t step(const TreeNode& node, float x) {
  const bool left = std::isnan(x) ? node.missing_left != 0 : x < node.value;
  return node.children + (left ? 0U : 1U);
}

bool has_missing(std::span<const float> numbers) {
  bool found = false;
  for (const float x : numbers) found |= std::isnan(x);
  return found;
}

template <typename T>
std::string bytes_of_vector(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

Forest::Forest(const TreeNodes& trees)
    : nodes_(trees.nodes),
      means_(trees.means),
      roots_(trees.roots),
      base_(trees.base),
      levels_(lay_out(nodes_, roots_)) {}

Result<Forest> Forest::from_bundle(const Bundle& bundle, const std::string& name, std::size_t features) {
  Forest forest;
  FORERUN_TRY(forest.nodes_, view_of<TreeNode>(bundle, name + ".nodes", forest.owned_));
  FORERUN_TRY(forest.means_, view_of<float>(bundle, name + ".means", forest.owned_));
  FORERUN_TRY(const auto roots, view_of<std::uint32_t>(bundle, name + ".roots", forest.owned_));
  const auto broken = [&](const char* what) {
    return bad_input(bundle.file_name() + ": forest " + name + ": " + what);
  };
  if (roots.empty()) return broken("no base value");
  std::memcpy(&forest.base_, roots.data(), sizeof forest.base_);  // the first number is the base value
  forest.roots_ = roots.subspan(1);
  if (forest.means_.size() != forest.nodes_.size()) return broken("nodes and means differ in number");
  if (!std::isfinite(forest.base_)) return broken("its base value is not a number");
  for (const std::uint32_t root : forest.roots_) {
    if (root >= forest.nodes_.size()) return broken("a root out of range");
  }
  for (std::size_t i = 0; i < forest.nodes_.size(); ++i) {
    const TreeNode& node = forest.nodes_[i];
    if (std::isnan(node.value) || std::isnan(forest.means_[i])) return broken("a number that is none");
    if (node.children == 0) continue;
    // Children come after their parent, so every walk ends.
    if (node.children <= i || std::size_t(node.children) + 1 >= forest.nodes_.size())
      return broken("a child out of range");
    if (node.feature >= features) return broken("a feature out of range");
  }
  forest.levels_ = lay_out(forest.nodes_, forest.roots_);
  return forest;
}

float Forest::predict(std::span<const float> row) const {
  if (levels_ && !has_missing(row)) return levels_->sum(row.data(), base_);
  float sum = base_;
  for (std::uint32_t at : roots_) {
    while (nodes_[at].children != 0) at = step(nodes_[at], row[nodes_[at].feature]);
    sum += nodes_[at].value;
  }
  return sum;
}

void Forest::predict(std::span<const float> rows, std::size_t width, std::span<float> out) const {
  constexpr std::size_t kTogether = 2048;  // rows at a time that stay in the cache
  for (std::size_t r = 0; r < out.size(); r += kTogether) {
    const std::size_t count = std::min(kTogether, out.size() - r);
    predict_together(rows.subspan(r * width, count * width), width, out.subspan(r, count));
  }
}

void Forest::predict_together(std::span<const float> rows, std::size_t width, std::span<float> out) const {
  constexpr std::size_t kFew = 8;  // up to this many rows, one at a time is faster
  std::size_t r = 0;
  if (levels_ && out.size() > kFew && !has_missing(rows)) {
    std::vector<float> sums((out.size() + kTreeLanes - 1) / kTreeLanes * kTreeLanes, base_);
    levels_->add(rows, width, sums);
    for (; r < out.size(); ++r) out[r] += sums[r];
  }
  for (; r < out.size(); ++r) out[r] += predict(rows.subspan(r * width, width));
}

void Forest::add_contributions(std::span<const float> row, std::span<double> by_feature, double& base_value) const {
  base_value += base_;
  for (const std::uint32_t root : roots_) {
    std::uint32_t at = root;
    base_value += means_[at];
    while (nodes_[at].children != 0) {
      const std::uint32_t next = step(nodes_[at], row[nodes_[at].feature]);
      by_feature[nodes_[at].feature] += double(means_[next]) - double(means_[at]);
      at = next;
    }
    // A leaf's mean is its value; the rounding error is added to the base.
    base_value += double(nodes_[at].value) - double(means_[at]);
  }
}

Status add_forest(BundleWriter& writer, const std::string& name, const TreeNodes& trees) {
  std::vector<std::uint32_t> roots(1);
  std::memcpy(roots.data(), &trees.base, sizeof trees.base);
  roots.insert(roots.end(), trees.roots.begin(), trees.roots.end());
  FORERUN_CHECK(writer.add_section(name + ".nodes", bytes_of_vector(trees.nodes)));
  FORERUN_CHECK(writer.add_section(name + ".means", bytes_of_vector(trees.means)));
  return writer.add_section(name + ".roots", bytes_of_vector(roots));
}

}  // namespace forerun
