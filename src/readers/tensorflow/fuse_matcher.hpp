// What recognising composites in a block needs: which node made a value, who reads it, and how a node takes the place
// of those that it stands for.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace forerun::tensorflow {

class BlockMatcher {
 public:
  BlockMatcher(Graph& graph, std::int32_t block)
      : graph_(graph), block_(block), producers_(graph.values.size(), -1), uses_(graph.values.size(), 0) {
    // Every body may read a value of the blocks around it.
    for (const Block& one : graph.blocks) {
      for (const Node& node : one.nodes) {
        for (const ValueId id : node.inputs) use(id);
      }
      for (const ValueId id : one.outputs) use(id);
    }
    auto& nodes = graph.blocks[std::size_t(block)].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId id : nodes[i].outputs) {
        if (id != kNoValue) producers_[std::size_t(id)] = NodeId(i);
      }
    }
    gone_.assign(nodes.size(), false);
  }

 protected:
  using Pair = std::pair<ValueId, ValueId>;

  void use(ValueId id) {
    if (id != kNoValue) ++uses_[std::size_t(id)];
  }
  Node& node(NodeId id) { return graph_.blocks[std::size_t(block_)].nodes[std::size_t(id)]; }
  const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }

  // The node of this kind that made the value; nullptr when another one did.
  Node* made_by(ValueId id, OpKind kind) {
    if (id == kNoValue || producers_[std::size_t(id)] < 0) return nullptr;
    Node& made = node(producers_[std::size_t(id)]);
    return made.kind == kind ? &made : nullptr;
  }
  // Both operands, in either order.
  std::vector<Pair> operands(ValueId id, OpKind kind) {
    const Node* made = made_by(id, kind);
    if (made == nullptr || made->inputs.size() != 2 || made->inputs[0] == kNoValue || made->inputs[1] == kNoValue)
      return {};
    return {{made->inputs[0], made->inputs[1]}, {made->inputs[1], made->inputs[0]}};
  }
  ValueId operand(ValueId id, OpKind kind) {
    const Node* made = made_by(id, kind);
    return made == nullptr || made->inputs.empty() ? kNoValue : made->inputs[0];
  }
  // Through reshapes: parameters are brought to the image's rank.
  ValueId origin(ValueId id) {
    for (int hops = 0; hops < 8; ++hops) {
      ValueId from = operand(id, OpKind::Reshape);
      if (from == kNoValue) from = operand(id, OpKind::Unsqueeze);
      if (from == kNoValue) from = operand(id, OpKind::Transpose);
      if (from == kNoValue) from = operand(id, OpKind::Identity);
      if (from == kNoValue) break;
      id = from;
    }
    return id;
  }
  bool is_parameter(ValueId id) {
    const ValueId from = id == kNoValue ? kNoValue : origin(id);
    return from != kNoValue && is_stored(value(from)) && value(from).has_shape;
  }

  // What a normalisation without a scale or shift multiplies by or adds; not stored in the file.
  ValueId constant(std::int64_t elements) {
    Value& made = graph_.values.emplace_back();
    made.dtype = DType::Float32;
    made.role = ValueRole::Constant;
    made.has_shape = true;
    made.dims = {elements};
    producers_.push_back(-1);
    uses_.push_back(0);
    return ValueId(graph_.values.size() - 1);
  }

  // The node computes the same from other operands; what nothing else reads is removed.
  void replace(NodeId id, OpKind kind, std::string op_type, std::vector<ValueId> inputs,
               std::vector<Attribute> attributes) {
    Node& one = node(id);
    const std::vector<ValueId> before = std::exchange(one.inputs, std::move(inputs));
    for (const ValueId input : one.inputs) use(input);
    one.kind = kind;
    one.op_type = std::move(op_type);
    one.attributes = std::move(attributes);
    std::vector<ValueId> released = before;
    while (!released.empty()) {
      const ValueId input = released.back();
      released.pop_back();
      if (input == kNoValue || --uses_[std::size_t(input)] > 0) continue;
      const NodeId maker = producers_[std::size_t(input)];
      if (maker < 0 || gone_[std::size_t(maker)] || !node(maker).blocks.empty()) continue;
      const bool unread = std::all_of(node(maker).outputs.begin(), node(maker).outputs.end(),
                                      [&](ValueId out) { return out == kNoValue || uses_[std::size_t(out)] == 0; });
      if (!unread) continue;
      gone_[std::size_t(maker)] = true;
      released.insert(released.end(), node(maker).inputs.begin(), node(maker).inputs.end());
    }
  }

  // Takes nodes that nothing reads any more out of the block.
  void sweep() {
    auto& nodes = graph_.blocks[std::size_t(block_)].nodes;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (gone_[i]) continue;
      if (kept != i) nodes[kept] = std::move(nodes[i]);
      ++kept;
    }
    nodes.resize(kept);
  }

  Graph& graph_;
  std::int32_t block_;
  std::vector<NodeId> producers_;  // by value, in this block
  std::vector<std::int32_t> uses_;
  std::vector<bool> gone_;
};

}  // namespace forerun::tensorflow
