// The forward walk over a graph's nodes that lists its kernels; used by list_kernels() alone.
#pragma once

#include <vector>

#include "analysis/kernel_builder.hpp"

namespace forerun {

class KernelList {
 public:
  KernelList(const Graph& graph, const Workload& workload, std::vector<Kernel>& kernels)
      : graph_(graph), workload_(workload), kernels_(kernels), strided_(graph.values.size(), false) {}

  // Appends the kernels of a block and of the bodies inside it.
  void run(std::int32_t index);

 private:
  const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }
  bool is_strided(ValueId id) const { return id != kNoValue && strided_[std::size_t(id)]; }
  static const char* label_of(const Node& node) { return node.op_type.c_str(); }

  double bytes(ValueId id) const;
  Kernel make(KernelClass kernel_class, const char* label, NodeId id) const;
  void push(Kernel kernel);
  void add_io(Kernel& kernel, const Node& node) const;
  void densify(ValueId id, NodeId at);

  // kernels.cpp: nodes and groups of nodes
  void emit(const Node& node, NodeId id);
  void emit(const Block& block, const Match& match);
  void view(const Node& node, bool strides);
  void transpose(const Node& node);
  void reshape(const Node& node, NodeId id);
  void cast(const Node& node, NodeId id);
  void norm_like(Kernel& kernel, const Match& match, const Node& main);
  void simple(const Node& node, NodeId id, const OpSpec& spec);

  // kernel_products.cpp
  void conv(const Node& node, NodeId id);
  void after_conv(KernelClass kernel_class, const char* label, const Node& node, NodeId id);
  void product(const Node& node, NodeId id);
  void set_product(Kernel& kernel, const Node& node) const;
  void experts(const Node& node, NodeId id);
  void attention(const Node& node, NodeId id);

  const Graph& graph_;
  const Workload& workload_;
  std::vector<Kernel>& kernels_;
  std::vector<bool> strided_;  // values that are views with their input's strides
  std::int32_t block_ = 0;
  double runs_ = 1;
  double pending_views_ = 0;  // views since the last kernel: the host dispatches them, too
};

}  // namespace forerun
