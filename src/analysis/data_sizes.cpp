#include "analysis/data_sizes.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"

namespace forerun {
namespace {

constexpr std::array kDataDecides = {OpKind::NonZero,           OpKind::NonMaxSuppression, OpKind::Unique,
                                     OpKind::Compress,          OpKind::RemovePadding,     OpKind::BeamSearch,
                                     OpKind::WhisperBeamSearch, OpKind::GreedySearch,      OpKind::Sampling};
constexpr int kPasses = 3;  // bodies lie after the nodes that run them

// `depends`: the sizes, or numbers that are sizes, come from data. Every value is visited kPasses times at most.
class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph), depends_(graph.values.size(), false) {}

  std::vector<bool> run() {
    for (int pass = 0; pass < kPasses; ++pass) {
      bool changed = false;
      for (const Block& block : graph_.blocks) {
        for (const Node& node : block.nodes) changed = visit(node) || changed;
      }
      if (!changed) break;
    }
    for (std::size_t id = 0; id < depends_.size(); ++id)
      depends_[id] = stacked_[id] || (depends_[id] && has_open_size(graph_.values[id]) && !measured_[id]);
    return depends_;
  }

 private:
  bool of(ValueId id) const { return id != kNoValue && depends_[std::size_t(id)]; }
  bool any_of(const std::vector<ValueId>& ids) const {
    return std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return of(id); });
  }
  static bool has_open_size(const Value& value) {
    return value.has_shape && !value.literal && !value.dims.empty() && checked_product(value.dims) != 1;
  }

  // The trip count of a Loop is a constant, or known only at run time.
  bool runs_unknown(const Node& node) const {
    if (node.kind != OpKind::Loop) return false;
    return node.inputs.empty() || node.inputs[0] == kNoValue ||
           !graph_.values[std::size_t(node.inputs[0])].literal.has_value();
  }

  bool visit(const Node& node) {
    bool from_data = any_of(node.inputs);
    for (const auto& [name, block] : node.blocks)
      from_data = from_data || any_of(graph_.blocks[std::size_t(block)].outputs);
    const bool decides = std::find(kDataDecides.begin(), kDataDecides.end(), node.kind) != kDataDecides.end();
    bool changed = false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      // A Loop's carried values come before what it stacks; its inputs are the count, the condition and these values.
      const bool stacked = runs_unknown(node) && i + 2 >= std::max<std::size_t>(2, node.inputs.size());
      if (!from_data && !decides && !stacked) continue;
      if (stacked && graph_.values[std::size_t(id)].has_shape) stacked_[std::size_t(id)] = true;
      // Shape and Size give the sizes as numbers: how many there are is known.
      if (node.kind == OpKind::Shape || node.kind == OpKind::Size) measured_[std::size_t(id)] = true;
      if (depends_[std::size_t(id)]) continue;
      depends_[std::size_t(id)] = true;
      changed = true;
    }
    return changed;
  }

  const Graph& graph_;
  std::vector<bool> depends_;
  std::vector<bool> measured_ = std::vector<bool>(depends_.size(), false);
  std::vector<bool> stacked_ = std::vector<bool>(depends_.size(), false);
};

}  // namespace

std::vector<bool> sizes_from_data(const Graph& graph) { return Walk(graph).run(); }

}  // namespace forerun
