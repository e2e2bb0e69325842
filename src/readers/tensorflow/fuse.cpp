#include "readers/tensorflow/fuse.hpp"

#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "readers/tensorflow/fuse_matcher.hpp"

namespace forerun::tensorflow {
namespace {

class Normalisations : BlockMatcher {
 public:
  using BlockMatcher::BlockMatcher;

  void run() {
    auto& nodes = graph_.blocks[std::size_t(block_)].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind == OpKind::Add) normalisation(NodeId(i));
      if (nodes[i].kind == OpKind::Mul) gelu(NodeId(i));
    }
    sweep();
  }

 private:
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
};

}  // namespace

void fuse_composites(Graph& graph) {
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) Normalisations(graph, std::int32_t(i)).run();
}

}  // namespace forerun::tensorflow
