// Liveness over the execution order.
#include <algorithm>

#include "analysis/analyze.hpp"
#include "base/checked.hpp"
#include "ops/op_table.hpp"

namespace forerun {
namespace {

class Liveness {
 public:
  explicit Liveness(const Graph& graph) : graph_(graph), storage_(graph.values.size()), uses_(graph.values.size(), 0) {
    for (std::size_t i = 0; i < storage_.size(); ++i) storage_[i] = ValueId(i);
  }

  // Peak of the block's own values, on top of what its caller holds.
  std::int64_t peak(std::int32_t index) {
    const Block& block = graph_.blocks[std::size_t(index)];
    for (const Node& node : block.nodes) {
      // Views share their input's storage.
      const bool view = spec_of(node.kind).op_class == OpClass::Free && !node.inputs.empty() &&
                        node.inputs[0] != kNoValue && node.kind != OpKind::Shape && node.kind != OpKind::Size;
      if (view) {
        for (const ValueId output : node.outputs) {
          if (output != kNoValue) storage_[std::size_t(output)] = storage_[std::size_t(node.inputs[0])];
        }
      }
      for_each_use(node, [&](ValueId id) { ++uses_[std::size_t(storage_[std::size_t(id)])]; });
    }
    for (const ValueId output : block.outputs) {
      if (output != kNoValue) ++uses_[std::size_t(storage_[std::size_t(output)])];  // never freed inside the block
    }
    std::int64_t live = 0;
    if (index == 0) {
      for (const ValueId input : block.inputs) live = checked_add(live, size(input));
    }
    std::int64_t highest = live;
    for (const Node& node : block.nodes) {
      std::int64_t inner = 0;
      for (const auto& [name, body] : node.blocks) {
        if (graph_.blocks[std::size_t(body)].runs > 0) inner = std::max(inner, peak(body));
      }
      for (const ValueId output : node.outputs) {
        if (output != kNoValue && storage_[std::size_t(output)] == output) live = checked_add(live, size(output));
      }
      highest = std::max(highest, checked_add(live, inner));
      const auto release = [&](ValueId id) {
        const ValueId root = storage_[std::size_t(id)];
        if (--uses_[std::size_t(root)] == 0) live -= std::min(live, size(root));
      };
      for_each_use(node, release);
      for (const ValueId output : node.outputs) {  // results nobody reads
        if (output != kNoValue && storage_[std::size_t(output)] == output && uses_[std::size_t(output)] == 0) {
          live -= std::min(live, size(output));
        }
      }
    }
    return highest;
  }

 private:
  std::int64_t size(ValueId id) const {
    const Value& value = graph_.values[std::size_t(id)];
    return value.is_constant || is_stored(value) ? 0 : bytes_of(value);
  }

  template <typename F>
  void for_each_use(const Node& node, const F& visit) const {
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) visit(input);
    }
  }

  const Graph& graph_;
  std::vector<ValueId> storage_;
  std::vector<std::int32_t> uses_;
};

}  // namespace

std::int64_t count_peak_activations(const Graph& graph) { return Liveness(graph).peak(0); }

}  // namespace forerun
