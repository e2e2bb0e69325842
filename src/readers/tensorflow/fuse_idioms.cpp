// What TensorFlow writes with several operators where PyTorch has one: hard sigmoid and hard swish, a dense layer over
// more than two dimensions, an embedding's indices counted from the end, nearest-neighbour upsampling by repetition.
#include <cmath>

#include "readers/tensorflow/fuse.hpp"
#include "readers/tensorflow/fuse_matcher.hpp"

namespace forerun::tensorflow {
namespace {

class Idioms : BlockMatcher {
 public:
  using BlockMatcher::BlockMatcher;

  void run() {
    auto& nodes = graph_.blocks[std::size_t(block_)].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (gone_[i]) continue;
      switch (nodes[i].kind) {
        case OpKind::Mul:
          hard_sigmoid(NodeId(i));
          hard_swish(NodeId(i));
          break;
        case OpKind::Div: hard_sigmoid(NodeId(i)); break;
        case OpKind::Gather: counted_from_end(NodeId(i)); break;
        case OpKind::Reshape: dense(NodeId(i)); break;
        case OpKind::Transpose: upsample(NodeId(i)); break;
        default: break;
      }
    }
    sweep();
  }

 private:
  bool is_scalar(ValueId id, double wanted) {
    if (id == kNoValue) return false;
    const Value& one = value(origin(id));
    if (!one.literal || elements_of(one) != 1) return false;
    const Literal& literal = *one.literal;
    const double number = !literal.reals.empty()  ? literal.reals.front()
                          : !literal.ints.empty() ? double(literal.ints.front())
                                                  : std::nan("");
    return std::abs(number - wanted) < 1e-5;
  }

  // relu6(x + 3) / 6
  void hard_sigmoid(NodeId id) {
    const bool divides = node(id).kind == OpKind::Div;
    for (const auto& [limited, factor] : operands(node(id).outputs.front(), node(id).kind)) {
      const Node* clip = made_by(limited, OpKind::Clip);
      if (clip == nullptr || !is_scalar(factor, divides ? 6 : 1.0 / 6) || real_attribute(*clip, "min", -1) != 0 ||
          real_attribute(*clip, "max", -1) != 6)
        continue;
      for (const auto& [x, three] : operands(clip->inputs[0], OpKind::Add)) {
        if (is_scalar(three, 3))
          return replace(id, OpKind::HardSigmoid, "HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
      }
      if (divides) return;  // the order counts
    }
  }

  void hard_swish(NodeId id) {
    if (node(id).kind != OpKind::Mul) return;
    for (const auto& [x, gate] : operands(node(id).outputs.front(), OpKind::Mul)) {
      if (operand(gate, OpKind::HardSigmoid) == x && uses_[std::size_t(gate)] == 1)
        return replace(id, OpKind::HardSwish, "HardSwish", {x}, {});
    }
  }

  // select(index < 0, index + rows, index): PyTorch's lookup does so itself.
  void counted_from_end(NodeId id) {
    if (node(id).inputs.size() != 2) return;
    const Node* choice = made_by(node(id).inputs[1], OpKind::Where);
    if (choice == nullptr || choice->inputs.size() != 3) return;
    const ValueId index = choice->inputs[2];
    const Node* below = made_by(choice->inputs[0], OpKind::Less);
    if (below == nullptr || below->inputs.size() != 2 || below->inputs[0] != index || !is_scalar(below->inputs[1], 0))
      return;
    for (const auto& [own, rows] : operands(choice->inputs[1], OpKind::Add)) {
      if (own != index || value(rows).dims.size() > 0) continue;
      const Node& gather = node(id);
      return replace(id, OpKind::Gather, gather.op_type, {gather.inputs[0], index}, gather.attributes);
    }
  }

  // A product of the rows of x, between two reshapes: PyTorch's linear layer takes any number of dimensions.
  void dense(NodeId id) {
    const ValueId result = node(id).outputs.front();
    const ValueId flat = node(id).inputs.empty() ? kNoValue : node(id).inputs[0];
    Node* product = made_by(flat, OpKind::Gemm);
    if (product == nullptr || uses_[std::size_t(flat)] != 1 || int_attribute(*product, "transA", 0) != 0 ||
        int_attribute(*product, "transB", 0) != 0 || product->inputs.size() < 2 || product->inputs[1] == kNoValue)
      return;
    const ValueId x = operand(product->inputs[0], OpKind::Reshape);
    const Value& weights = value(product->inputs[1]);
    if (x == kNoValue || !is_stored(weights) || weights.dims.size() != 2 || !value(x).has_shape ||
        !value(result).has_shape || value(x).dims.size() < 3)
      return;
    Dims wanted = value(x).dims;
    if (wanted.back() != weights.dims[0]) return;
    wanted.back() = weights.dims[1];
    if (wanted != value(result).dims) return;
    const ValueId bias = product->inputs.size() > 2 ? product->inputs[2] : kNoValue;
    const ValueId matrix = product->inputs[1];
    if (bias == kNoValue) return replace(id, OpKind::MatMul, "MatMul", {x, matrix}, {});
    graph_.values[std::size_t(flat)].dims = std::move(wanted);
    replace(producers_[std::size_t(flat)], OpKind::MatMul, "MatMul", {x, matrix}, {});
    replace(id, OpKind::Add, "Add", {flat, bias}, {});
  }

  // x with each row of dimension `axis` written `times` times: Reshape of Tile of Unsqueeze.
  struct Repeat {
    ValueId x = kNoValue;
    std::int64_t times = 0;
  };
  Repeat repeat_of(ValueId id) {
    ValueId tiled = operand(id, OpKind::Reshape);
    if (const ValueId before = operand(tiled, OpKind::Transpose); before != kNoValue) tiled = before;
    const ValueId deeper = operand(tiled, OpKind::Tile);
    const ValueId x = operand(deeper, OpKind::Unsqueeze);
    if (x == kNoValue || !value(x).has_shape || !value(tiled).has_shape || !value(deeper).has_shape) return {};
    const std::int64_t before = elements_of(value(x)), after = elements_of(value(tiled));
    // One dimension grows: the one that Unsqueeze made.
    int grown = 0;
    const Dims& from = value(deeper).dims;
    const Dims& to = value(tiled).dims;
    for (std::size_t i = 0; i < from.size() && from.size() == to.size(); ++i) {
      if (from[i] != to[i]) grown += from[i] == 1 ? 1 : 2;
    }
    if (grown != 1 || before <= 0 || after % before != 0) return {};
    return {x, after / before};
  }

  // Rows, then columns of an image, which is channels last between the two and brought back by this node.
  void upsample(NodeId id) {
    if (node(id).inputs.empty() || !std::ranges::equal(ints_attribute(node(id), "perm"), Dims{0, 3, 1, 2})) return;
    const Repeat columns = repeat_of(node(id).inputs[0]);
    const Repeat rows = columns.x == kNoValue ? Repeat{} : repeat_of(columns.x);
    if (rows.x == kNoValue || value(rows.x).dims.size() != 4) return;
    const Dims& from = value(rows.x).dims;
    const Dims& to = value(node(id).outputs.front()).dims;
    if (to != Dims{from[0], from[1], from[2] * rows.times, from[3] * columns.times}) return;
    const ValueId scales = constant(4);
    graph_.values[std::size_t(scales)].literal = Literal{{}, {1, 1, double(rows.times), double(columns.times)}};
    replace(id, OpKind::Resize, "Resize", {rows.x, kNoValue, scales}, {{"mode", std::string("nearest")}});
  }
};

}  // namespace

void fuse_idioms(Graph& graph) {
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) Idioms(graph, std::int32_t(i)).run();
}

}  // namespace forerun::tensorflow
