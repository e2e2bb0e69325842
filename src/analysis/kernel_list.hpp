// The forward walk over a graph's nodes that lists its kernels; used by list_kernels() alone.
#pragma once

#include <vector>

#include "analysis/kernel_builder.hpp"

namespace forerun {

class KernelList {
 public:
  KernelList(const Graph& graph, const Workload& workload, std::vector<Kernel>& kernels)
      : graph_(graph),
        workload_(workload),
        kernels_(kernels),
        written_out_(graph.origin.form == GraphForm::WrittenOut && !workload.fused_engine),
        captured_(written_out_ && workload.runtime == Runtime::Graph && !workload.training),
        strided_(graph.values.size(), false),
        channels_last_(graph.values.size(), false),
        heads_inside_(graph.values.size(), false) {}

  // Appends the kernels of a block and of the bodies inside it.
  void run(std::int32_t index);

 private:
  const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }
  bool is_strided(ValueId id) const { return id != kNoValue && strided_[std::size_t(id)]; }
  // The operator table's name, whatever the file calls it: predictors have learned these.
  static const char* label_of(const Node& node) { return spec_of(node.kind).name.data(); }

  double bytes(ValueId id) const;
  Kernel make(KernelClass kernel_class, const char* label, NodeId id) const;
  void push(Kernel kernel);
  void add_io(Kernel& kernel, const Node& node) const;
  void densify(ValueId id, NodeId at);

  // kernels.cpp: nodes and groups of nodes
  void mark_attention_views(const Block& block, const BlockLinks& links, const std::vector<Match>& matches);
  void emit(const Node& node, NodeId id);
  void emit(const Block& block, const BlockLinks& links, const Match& match);
  void view(const Node& node, bool strides);
  void transpose(const Node& node);
  void reshape(const Node& node, NodeId id);
  void cast(const Node& node, NodeId id);
  void norm_like(Kernel& kernel, const Match& match, const Node& main);
  void simple(const Node& node, NodeId id, const OpSpec& spec);

  // kernel_compositions.cpp: what Hugging Face writes out in Python, and PyTorch's attention without a fused kernel
  void pass(KernelClass kernel_class, const char* label, NodeId id, double elements, double read_bytes,
            double write_bytes, double inner = 0);
  void rms_norm(const Node& node, NodeId id);
  void rotary(const Node& node, NodeId id);
  void unfused_attention(NodeId id, const Kernel& fused, double mask, const Node* repeated);
  void repeat_keys(const Node& node, NodeId id, const Kernel& fused);
  void explicit_mask(NodeId id, double elements);

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
  const bool
      written_out_;  // a configuration as Hugging Face's own code runs it: norms and rotations are many small kernels
  const bool
      captured_;  // such a configuration inside a CUDA graph: masks cannot be skipped, because nobody may look at them
  std::vector<bool> strided_;         // values that are views with their input's strides
  std::vector<bool> channels_last_;   // images that lie in memory as (batch, row, column, channel)
  std::vector<bool> heads_inside_;    // results of attention that lie in memory as (batch, token, head, size)
  std::vector<bool> undone_reshape_;  // of this block: reshapes on the way to an attention that never copy
  bool swaps_tokens_ = false;         // batch and token were swapped: nn.MultiheadAttention
  std::int32_t block_ = 0;
  double runs_ = 1;
  double pending_views_ = 0;  // views since the last kernel: the host dispatches them, too
};

}  // namespace forerun
