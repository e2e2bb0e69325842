#include "readers/onnx/stored_constants.hpp"

#include <algorithm>
#include <vector>

#include "base/checked.hpp"
#include "ops/op_table.hpp"

namespace forerun::onnx {
namespace {

// How far a value reaches as an operand; the higher the more surely it is a weight.
enum class Use : std::uint8_t { None, Operand, WeightSlot };

bool rearranges(OpKind kind) {
  switch (kind) {
    case OpKind::Reshape:
    case OpKind::Unsqueeze:
    case OpKind::Squeeze:
    case OpKind::Flatten:
    case OpKind::Identity:
    case OpKind::Transpose:
    case OpKind::Cast:
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Concat:
    case OpKind::Expand:
    case OpKind::QuantizeLinear:
    case OpKind::DequantizeLinear: return true;
    default: return false;
  }
}

// What the node makes of its operand `slot`, its own results left aside.
Use use_of(const Node& node, std::size_t slot) {
  switch (spec_of(node.kind).op_class) {
    case OpClass::Conv:
    case OpClass::MatMul: return slot >= 1 ? Use::WeightSlot : Use::Operand;
    case OpClass::Recurrent:  // 4 to 6 are lengths and initial states
      return slot >= 1 && (slot < 4 || slot > 6) ? Use::WeightSlot : Use::None;
    case OpClass::Norm: return slot >= 1 ? Use::WeightSlot : Use::Operand;
    case OpClass::Attention:
    case OpClass::Elementwise:
    case OpClass::Embedding: return slot == 0 || node.kind != OpKind::Gather ? Use::Operand : Use::None;
    default: return Use::None;
  }
}

class Marking {
 public:
  explicit Marking(Graph& graph) : graph_(graph), use_(graph.values.size(), Use::None) {}

  void run() {
    // Blocks and nodes from the last to the first: consumers come before producers.
    for (std::size_t b = graph_.blocks.size(); b-- > 0;) {
      const std::vector<Node>& nodes = graph_.blocks[b].nodes;
      for (std::size_t i = nodes.size(); i-- > 0;) follow(nodes[i]);
    }
    for (Block& block : graph_.blocks) {
      for (const Node& node : block.nodes) mark(node);
    }
  }

 private:
  void follow(const Node& node) {
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (node.inputs[slot] == kNoValue) continue;
      Use use = use_of(node, slot);
      if (rearranges(node.kind) && (slot == 0 || node.kind == OpKind::Concat)) {
        use = Use::None;
        for (const ValueId output : node.outputs) {
          if (output != kNoValue) use = std::max(use, use_[std::size_t(output)]);
        }
      }
      Use& known = use_[std::size_t(node.inputs[slot])];
      known = std::max(known, use);
    }
  }

  void mark(const Node& node) {
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return;
    Value& value = graph_.values[std::size_t(node.outputs[0])];
    const Use use = use_[std::size_t(node.outputs[0])];
    if (node.kind == OpKind::Constant) {
      const bool counts = (is_floating(value.dtype) || is_quantized(value.dtype)) && value.has_shape;
      if (counts && elements_of(value) > 1 && use != Use::None) value.role = ValueRole::Weight;
    } else if (node.kind == OpKind::ConstantOfShape && !node.inputs.empty() && node.inputs[0] != kNoValue) {
      const Value& shape = graph_.values[std::size_t(node.inputs[0])];
      if (!is_stored(shape) || !shape.literal || shape.literal->ints.empty()) return;
      const bool is_real = is_floating(
          DType(std::clamp<std::int64_t>(int_attribute(node, "value_dtype", 1), 0, std::int64_t(DType::Count) - 1)));
      const bool per_channel = shape.literal->ints.size() == 1 && use == Use::Operand;
      if (is_real && (use == Use::WeightSlot || per_channel)) value.role = ValueRole::Weight;
    }
  }

  Graph& graph_;
  std::vector<Use> use_;
};

}  // namespace

void mark_stored_weights(Graph& graph) {
  if (graph.origin.framework != Framework::PyTorch) Marking(graph).run();
}

}  // namespace forerun::onnx
