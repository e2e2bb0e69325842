// Live bytes over the execution order of a run, as PyTorch's allocator would hold them.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/kernel_builder.hpp"

namespace forerun {

// What PyTorch runs as one operator has no inner results; unary activations run in place; a batch norm that the
// exporter folded away needs its output beside its input; libraries take workspaces.
class LiveSet {
 public:
  LiveSet(const Graph& graph, const Workload& workload);

  // Highest number of bytes at once; of a training step with the gradients of the weights, without weights and
  // optimiser.
  [[nodiscard]] double peak();
  // After peak() of a training step: what the forward pass keeps for the backward one.
  [[nodiscard]] double saved() const { return saved_; }
  // The same of the nodes [first, last); of all that attention's scores take where `only_scores`.
  [[nodiscard]] double saved_between(NodeId first, NodeId last, bool only_scores = false) const;
  // After peak() of a training step: the highest number of bytes without the gradients of weights, and of a language
  // model without what a loss takes beside the logits (fused cross-entropy writes their gradient in their place).
  [[nodiscard]] double peak_without_gradients() const { return activation_peak_; }

 private:
  struct Kept {
    NodeId by;
    double bytes;
  };

  void share_storage();
  void widen();
  void hold_module_inputs();
  double forward();
  double backward();
  void release(std::span<const ValueId> values);

  [[nodiscard]] const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph_.main().nodes[std::size_t(id)]; }
  [[nodiscard]] ValueId root(ValueId id) const { return root_[std::size_t(id)]; }
  [[nodiscard]] bool is_cache(ValueId input) const { return value(input).role == ValueRole::Cache; }
  [[nodiscard]] double size(ValueId id) const;
  [[nodiscard]] double made_by(const Node& node) const;
  [[nodiscard]] double workspace(const Node& node, NodeId id) const;
  [[nodiscard]] double convolution_workspace(const Node& node) const;
  [[nodiscard]] bool shares_storage(const Node& node) const;
  [[nodiscard]] bool copies(const Node& node) const;
  void follow_strides(const Node& node);
  void keep(ValueId id, NodeId by, bool as_operand = false);
  void keep_copy(double bytes, NodeId by);
  void keep_for_backward(const Node& node, NodeId id);

  const Graph& graph_;
  const Workload& workload_;
  BlockLinks links_;
  std::vector<Match> matches_;
  std::vector<std::int32_t> group_;  // of a node: its match, or -1
  std::vector<ValueId> root_;        // of a value: whose storage it lies in
  std::vector<bool> inner_, strided_;
  std::vector<bool> wide_;  // float32 inside a mixed-precision run
  std::vector<std::int32_t> uses_, consumers_;
  std::vector<std::pair<NodeId, ValueId>> returns_;  // after this node a module returns, and its argument is released
  std::vector<bool> kept_root_, is_input_;
  std::vector<Kept> kept_;
  double live_ = 0, saved_ = 0;
  double gradients_ = 0, loss_ = 0;  // of weights, so far; of a language model's loss
  double activation_peak_ = 0;
};

}  // namespace forerun
