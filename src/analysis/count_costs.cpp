// Costs per node, and how often each body runs.
#include <algorithm>

#include "analysis/analyze.hpp"
#include "base/checked.hpp"
#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"

namespace forerun {
namespace {

class Counting {
 public:
  Counting(Graph& graph, const CancelToken& cancel)
      : graph_(graph), stop_(cancel), counted_(graph.values.size(), false) {}

  void run() {
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      for (Node& node : graph_.blocks[b].nodes) {
        if (stop_()) return;
        count_node(node);
      }
    }
    choose_branches();
    multiply_runs(0, 1);
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }

  bool shape_known(ValueId id) const {
    return id == kNoValue || value(id).has_shape || value(id).form != ValueForm::Tensor ||
           value(id).dtype == DType::String;
  }

  void count_node(Node& node) {
    const OpSpec& spec = spec_of(node.kind);
    node.cost = {};
    OpCost& cost = node.cost;
    count_parameters(node);
    cost.known = spec.count_cost != nullptr &&
                 std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return shape_known(id); });
    if (spec.op_class == OpClass::Control) cost.known = true;  // its bodies are counted
    if (!cost.known || spec.op_class == OpClass::Free || spec.op_class == OpClass::Control) return;
    // Constants are computed once, before the network runs: no cost per run.
    if (std::all_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId id) { return id == kNoValue || value(id).is_constant; })) {
      return;
    }
    RuleContext context(graph_, node);
    spec.count_cost(context, cost);
    count_bytes(node, spec);
  }

  // A sparse initialiser counts the values it stores.
  static std::int64_t parameters_of(const Value& value) {
    const int bits = bits_of(value.dtype);
    if (value.form != ValueForm::Sparse || value.stored_bytes < 0 || bits == 0) return elements_of(value);
    return value.stored_bytes * 8 / bits;
  }

  // CONTRACT: initialisers that a node uses, each counted once, batch norm's running statistics excluded.
  void count_parameters(Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || !is_weight(value(id)) || counted_[std::size_t(id)]) continue;
      if (node.kind == OpKind::BatchNormalization && (i == 3 || i == 4)) continue;
      counted_[std::size_t(id)] = true;
      node.cost.parameters = checked_add(node.cost.parameters, parameters_of(value(id)));
    }
    // A body's outputs may name an initialiser directly; the node that owns the body uses it then.
    for (const auto& [name, body] : node.blocks) {
      for (const ValueId id : graph_.blocks[std::size_t(body)].outputs) {
        if (id == kNoValue || !is_weight(value(id)) || counted_[std::size_t(id)]) continue;
        counted_[std::size_t(id)] = true;
        node.cost.parameters = checked_add(node.cost.parameters, parameters_of(value(id)));
      }
    }
  }

  void count_bytes(Node& node, const OpSpec& spec) {
    OpCost& cost = node.cost;
    for (const ValueId id : node.outputs) {
      if (id != kNoValue) cost.bytes_written = checked_add(cost.bytes_written, bytes_of(value(id)));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || value(id).literal) continue;
      if (std::find(node.inputs.begin(), node.inputs.begin() + std::ptrdiff_t(i), id) !=
          node.inputs.begin() + std::ptrdiff_t(i))
        continue;
      std::int64_t bytes = bytes_of(value(id));
      // A gather or slice reads what it returns, not its whole source; an expert layer reads the experts it touches.
      const bool partial =
          spec.op_class == OpClass::Embedding || node.kind == OpKind::Slice || node.kind == OpKind::Split;
      if (partial && i == 0) bytes = std::min(bytes, cost.bytes_written);
      if (node.kind == OpKind::EmbedLayerNormalization && i >= 2) bytes = std::min(bytes, cost.bytes_written);
      if (node.kind == OpKind::MoeExperts && value(id).is_constant) {
        const double experts = double(std::max<std::int64_t>(1, int_attribute(node, "num_experts", 1)));
        const double touched = std::clamp(real_attribute(node, "experts_touched", experts), 0.0, experts);
        bytes = std::int64_t(double(bytes) * touched / experts);
      }
      cost.bytes_read = checked_add(cost.bytes_read, bytes);
      if (value(id).is_constant) cost.weight_bytes = checked_add(cost.weight_bytes, bytes);
    }
  }

  // An If costs as much as its more expensive branch: the other body runs 0 times. Inner bodies first.
  void choose_branches() {
    for (std::size_t b = graph_.blocks.size(); b-- > 0;) {
      for (const Node& node : graph_.blocks[b].nodes) {
        if (node.kind != OpKind::If || node.blocks.size() != 2) continue;
        const std::int32_t first = node.blocks[0].second;
        const std::int32_t second = node.blocks[1].second;
        const bool first_is_larger = costs_more(first, second);
        graph_.blocks[std::size_t(first_is_larger ? second : first)].runs = 0;
      }
    }
  }

  bool costs_more(std::int32_t a, std::int32_t b) const {
    const auto [flops_a, bytes_a] = total(a);
    const auto [flops_b, bytes_b] = total(b);
    return flops_a != flops_b ? flops_a > flops_b : bytes_a >= bytes_b;
  }

  std::pair<std::int64_t, std::int64_t> total(std::int32_t index) const {
    std::int64_t flops = 0;
    std::int64_t bytes = 0;
    const Block& block = graph_.blocks[std::size_t(index)];
    for (const Node& node : block.nodes) {
      flops = checked_add(flops, node.cost.flops);
      bytes = checked_add(bytes, checked_add(node.cost.bytes_read, node.cost.bytes_written));
      for (const auto& [name, body] : node.blocks) {
        const auto [inner_flops, inner_bytes] = total(body);
        flops = checked_add(flops, inner_flops);
        bytes = checked_add(bytes, inner_bytes);
      }
    }
    return {checked_mul(flops, block.runs), checked_mul(bytes, block.runs)};
  }

  // Block::runs becomes absolute: a body inside a body runs the product of both.
  void multiply_runs(std::int32_t index, std::int64_t outer) {
    Block& block = graph_.blocks[std::size_t(index)];
    block.runs = checked_mul(block.runs, outer);
    for (const Node& node : block.nodes) {
      for (const auto& [name, body] : node.blocks) multiply_runs(body, block.runs);
    }
  }

  Graph& graph_;
  PacedStop stop_;
  std::vector<bool> counted_;
};

}  // namespace

Status count_costs(Graph& graph, const CancelToken& cancel) {
  Counting(graph, cancel).run();
  FORERUN_CHECK(cancel.check());
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
  for (const Value& value : graph.values) {
    if (value.has_shape && bytes_of(value) >= kSizeLimit) {
      return bad_input("value '" + value.name + "' is too large: its size overflows 2^62");
    }
  }
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      flops = checked_add(flops, checked_mul(node.cost.flops, block.runs));
      bytes = checked_add(bytes, checked_mul(checked_add(node.cost.bytes_read, node.cost.bytes_written), block.runs));
      if (flops >= kSizeLimit || bytes >= kSizeLimit) {
        return bad_input("node " + node.op_type + " '" + node.name + "': the cost overflows 2^62");
      }
    }
  }
  return ok();
}

}  // namespace forerun
