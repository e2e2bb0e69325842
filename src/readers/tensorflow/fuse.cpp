#include "readers/tensorflow/fuse.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.hpp"

namespace forerun::tensorflow {
namespace {

class Fusing {
 public:
  Fusing(Graph& graph, std::int32_t block)
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

  void run() {
    auto& nodes = graph_.blocks[std::size_t(block_)].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind == OpKind::Add) normalisation(NodeId(i));
      if (nodes[i].kind == OpKind::Mul) gelu(NodeId(i));
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (gone_[i]) continue;
      if (kept != i) nodes[kept] = std::move(nodes[i]);
      ++kept;
    }
    nodes.resize(kept);
  }

 private:
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

  struct Scale {
    ValueId variance = kNoValue;
    ValueId gamma = kNoValue;
    double epsilon = 1e-5;
  };

  // rsqrt(variance + epsilon) [* gamma]
  std::optional<Scale> scale_of(ValueId id) {
    if (const auto plain = root_of(id)) return plain;
    for (const auto& [root, gamma] : operands(id, OpKind::Mul)) {
      auto scale = root_of(origin(root));
      if (!scale || !is_parameter(gamma)) continue;
      scale->gamma = origin(gamma);
      return scale;
    }
    return std::nullopt;
  }
  std::optional<Scale> root_of(ValueId id) {
    const ValueId sum = operand(operand(id, OpKind::Reciprocal), OpKind::Sqrt);
    for (const auto& [variance, epsilon] : operands(sum, OpKind::Add)) {
      if (!is_parameter(epsilon) || elements_of(value(origin(epsilon))) != 1) continue;
      Scale scale{.variance = variance, .gamma = kNoValue, .epsilon = 1e-5};
      const auto& literal = value(origin(epsilon)).literal;
      if (literal && literal->reals.size() == 1) scale.epsilon = literal->reals[0];
      return scale;
    }
    return std::nullopt;
  }

  struct Shift {
    ValueId mean = kNoValue;
    ValueId beta = kNoValue;
  };

  // beta - mean * scale, or -mean * scale [+ beta]
  std::optional<Shift> shift_of(ValueId id, ValueId scale) {
    if (const Node* difference = made_by(id, OpKind::Sub); difference != nullptr && difference->inputs.size() == 2) {
      for (const auto& [mean, factor] : operands(difference->inputs[1], OpKind::Mul)) {
        if (origin(factor) == scale && is_parameter(difference->inputs[0]))
          return Shift{mean, origin(difference->inputs[0])};
      }
    }
    for (const auto& [product, beta] : operands(id, OpKind::Add)) {
      if (!is_parameter(beta)) continue;
      if (const ValueId mean = negated_mean(origin(product), scale); mean != kNoValue) return Shift{mean, origin(beta)};
    }
    if (const ValueId mean = negated_mean(id, scale); mean != kNoValue) return Shift{mean, kNoValue};
    return std::nullopt;
  }
  ValueId negated_mean(ValueId product, ValueId scale) {
    for (const auto& [negative, factor] : operands(product, OpKind::Mul)) {
      const ValueId mean = operand(negative, OpKind::Neg);
      if (origin(factor) == scale && mean != kNoValue) return mean;
    }
    return kNoValue;
  }

  // x * scale + shift
  void normalisation(NodeId id) {
    const ValueId sum = node(id).outputs.front();
    for (const auto& [product, addend] : operands(sum, OpKind::Add)) {
      for (const auto& [x, factor] : operands(product, OpKind::Mul)) {
        const auto scale = scale_of(origin(factor));
        const auto shift = scale ? shift_of(origin(addend), origin(factor)) : std::nullopt;
        if (!shift || !value(x).has_shape) continue;
        if (is_parameter(scale->variance) && is_parameter(shift->mean)) {
          batch_norm(id, x, *scale, *shift);
        } else if (is_mean_of(shift->mean, x) && is_variance_of(scale->variance, x, shift->mean)) {
          layer_norm(id, x, *scale, *shift);
        }
        if (node(id).kind != OpKind::Add) return;
      }
    }
  }

  void batch_norm(NodeId id, ValueId x, const Scale& scale, const Shift& shift) {
    const Dims& dims = value(x).dims;
    const std::int64_t channels = elements_of(value(origin(shift.mean)));
    if (dims.size() < 2 || dims[1] != channels) return;
    const ValueId gamma = scale.gamma == kNoValue ? constant(channels) : scale.gamma;
    const ValueId beta = shift.beta == kNoValue ? constant(channels) : shift.beta;
    replace(id, OpKind::BatchNormalization, "BatchNormalization",
            {x, gamma, beta, origin(shift.mean), origin(scale.variance)}, {{"epsilon", scale.epsilon}});
  }

  void layer_norm(NodeId id, ValueId x, const Scale& scale, const Shift& shift) {
    if (scale.gamma == kNoValue || elements_of(value(scale.gamma)) != value(x).dims.back()) return;
    std::vector<ValueId> inputs = {x, scale.gamma};
    if (shift.beta != kNoValue) inputs.push_back(shift.beta);
    replace(id, OpKind::LayerNormalization, "LayerNormalization", std::move(inputs),
            {{"axis", std::int64_t{-1}}, {"epsilon", scale.epsilon}});
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

  // A mean over the last dimension, which stays.
  ValueId averaged(ValueId id) {
    const Node* mean = made_by(id, OpKind::ReduceMean);
    if (mean == nullptr || mean->inputs.size() != 2 || mean->inputs[1] == kNoValue) return kNoValue;
    const Value& x = value(mean->inputs[0]);
    const auto& axes = value(mean->inputs[1]).literal;
    if (!x.has_shape || x.dims.empty() || !axes || axes->ints.size() != 1) return kNoValue;
    const auto rank = std::int64_t(x.dims.size());
    return axes->ints[0] == rank - 1 || axes->ints[0] == -1 ? mean->inputs[0] : kNoValue;
  }
  bool is_mean_of(ValueId mean, ValueId x) { return averaged(origin(mean)) == x; }
  bool is_variance_of(ValueId variance, ValueId x, ValueId mean) {
    variance = origin(variance);
    if (const ValueId squares = averaged(variance); squares != kNoValue) {
      const auto pairs = operands(squares, OpKind::Mul);
      if (pairs.empty() || pairs[0].first != pairs[0].second) return false;
      const Node* difference = made_by(pairs[0].first, OpKind::Sub);
      return difference != nullptr && difference->inputs.size() == 2 &&
             (difference->inputs[0] == x || difference->inputs[1] == x);
    }
    // E[x^2] - E[x]^2, never negative
    for (const OpKind limit : {OpKind::Relu, OpKind::Max, OpKind::Clip}) {
      if (const ValueId inside = operand(variance, limit); inside != kNoValue) variance = inside;
    }
    const Node* difference = made_by(variance, OpKind::Sub);
    if (difference == nullptr || difference->inputs.size() != 2) return false;
    const auto squares = operands(averaged(difference->inputs[0]), OpKind::Mul);
    const auto square = operands(difference->inputs[1], OpKind::Mul);
    return !squares.empty() && squares[0] == Pair{x, x} && !square.empty() && origin(square[0].first) == origin(mean) &&
           origin(square[0].second) == origin(mean);
  }

  // (x * 0.5) * erfc(-x * sqrt(0.5)), as Keras writes the exact one
  void gelu(NodeId id) {
    for (const auto& [half, error] : operands(node(id).outputs.front(), OpKind::Mul)) {
      const Node* erf = made_by(error, OpKind::Erf);
      if (erf == nullptr || find_attribute(*erf, "complement") == nullptr) continue;
      for (const auto& [negative, root] : operands(erf->inputs[0], OpKind::Mul)) {
        const ValueId x = operand(negative, OpKind::Neg);
        if (x == kNoValue || !is_parameter(root)) continue;
        for (const auto& [own, factor] : operands(half, OpKind::Mul)) {
          if (own != x || !is_parameter(factor)) continue;
          return replace(id, OpKind::Gelu, "Gelu", {x}, {});
        }
      }
    }
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

  Graph& graph_;
  std::int32_t block_;
  std::vector<NodeId> producers_;  // by value, in this block
  std::vector<std::int32_t> uses_;
  std::vector<bool> gone_;
};

}  // namespace

void fuse_composites(Graph& graph) {
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) Fusing(graph, std::int32_t(i)).run();
}

}  // namespace forerun::tensorflow
