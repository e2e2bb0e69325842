// Recognises operators that exporters take apart.
#include <algorithm>

#include "analysis/kernel_builder.hpp"

namespace forerun {

BlockLinks::BlockLinks(const Graph& graph, const Block& block)
    : block_(block), producer_(graph.values.size(), -1), consumers_(graph.values.size()) {
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    for (const ValueId output : block.nodes[i].outputs) {
      if (output != kNoValue) producer_[std::size_t(output)] = NodeId(i);
    }
  }
  for (std::size_t i = 0; i < block.nodes.size(); ++i) {
    if (block.nodes[i].kind == OpKind::Identity) continue;
    for (const ValueId input : block.nodes[i].inputs) {
      if (input == kNoValue) continue;
      auto& list = consumers_[std::size_t(origin(input))];
      if (list.empty() || list.back() != NodeId(i)) list.push_back(NodeId(i));
    }
  }
}

ValueId BlockLinks::origin(ValueId value) const {
  for (int hops = 0; hops < 64 && value != kNoValue; ++hops) {
    const NodeId node = producer_[std::size_t(value)];
    if (node < 0 || block_.nodes[std::size_t(node)].kind != OpKind::Identity ||
        block_.nodes[std::size_t(node)].inputs.empty() || block_.nodes[std::size_t(node)].inputs[0] == kNoValue) {
      return value;
    }
    value = block_.nodes[std::size_t(node)].inputs[0];
  }
  return value;
}

NodeId BlockLinks::producer(ValueId value) const {
  return value == kNoValue ? -1 : producer_[std::size_t(origin(value))];
}

const std::vector<NodeId>& BlockLinks::consumers(ValueId value) const { return consumers_[std::size_t(origin(value))]; }

NodeId BlockLinks::only_consumer(ValueId value) const {
  const auto& list = consumers(value);
  return list.size() == 1 ? list.front() : -1;
}

namespace {

class Matcher {
 public:
  Matcher(const Graph& graph, const Block& block, const BlockLinks& links)
      : graph_(graph), block_(block), links_(links), taken_(block.nodes.size(), false) {}

  std::vector<Match> run() {
    for (std::size_t i = 0; i < block_.nodes.size(); ++i) {
      const auto id = NodeId(i);
      if (taken_[i]) continue;
      switch (block_.nodes[i].kind) {
        case OpKind::ReduceMean: layer_norm(id); break;
        case OpKind::InstanceNormalization: group_norm(id); break;
        case OpKind::Erf: gelu(id); break;
        case OpKind::Sigmoid: silu(id); break;
        case OpKind::Softmax: attention(id); break;
        case OpKind::MatMul: linear_bias(id); break;
        case OpKind::Pad: padded_pool(id); break;
        default: break;
      }
    }
    std::sort(matches_.begin(), matches_.end(),
              [](const Match& a, const Match& b) { return a.nodes.back() < b.nodes.back(); });
    return std::move(matches_);
  }

 private:
  const Node& node(NodeId id) const { return block_.nodes[std::size_t(id)]; }
  OpKind kind(NodeId id) const { return id < 0 ? OpKind::Unknown : node(id).kind; }
  ValueId out(NodeId id) const { return node(id).outputs.empty() ? kNoValue : node(id).outputs[0]; }
  bool constant(ValueId value) const { return value != kNoValue && graph_.values[std::size_t(value)].is_constant; }

  // The only consumer of `from` if it is of kind `wanted` and free; else -1.
  NodeId next(NodeId from, OpKind wanted) const {
    const NodeId id = links_.only_consumer(out(from));
    return id >= 0 && kind(id) == wanted && !taken_[std::size_t(id)] ? id : -1;
  }
  // The same, and its other operand is a constant.
  NodeId next_with_constant(NodeId from, OpKind wanted) const {
    const NodeId id = next(from, wanted);
    if (id < 0 || node(id).inputs.size() != 2) return -1;
    return constant(node(id).inputs[0]) || constant(node(id).inputs[1]) ? id : -1;
  }

  void accept(Fusion fusion, std::vector<NodeId> nodes, NodeId main, ValueId input) {
    std::sort(nodes.begin(), nodes.end());
    for (const NodeId id : nodes) taken_[std::size_t(id)] = true;
    const ValueId output = out(nodes.back());
    matches_.push_back({fusion, std::move(nodes), main, input, output});
  }

  // mean, x - mean, square, mean, + eps, sqrt, /, [* weight], [+ bias]
  void layer_norm(NodeId mean) {
    const ValueId x = node(mean).inputs.empty() ? kNoValue : node(mean).inputs[0];
    const NodeId sub = next(mean, OpKind::Sub);
    if (sub < 0 || links_.origin(node(sub).inputs[0]) != links_.origin(x)) return;
    NodeId square = -1;
    NodeId division = -1;
    for (const NodeId user : links_.consumers(out(sub))) {
      if (kind(user) == OpKind::Pow || kind(user) == OpKind::Mul) square = user;
      if (kind(user) == OpKind::Div) division = user;
    }
    if (square < 0 || division < 0) return;
    const NodeId variance = next(square, OpKind::ReduceMean);
    const NodeId eps = variance < 0 ? -1 : next(variance, OpKind::Add);
    const NodeId root = eps < 0 ? -1 : next(eps, OpKind::Sqrt);
    if (root < 0 || links_.only_consumer(out(root)) != division) return;
    std::vector<NodeId> nodes = {mean, sub, square, variance, eps, root, division};
    append_affine(nodes, division);
    accept(Fusion::LayerNorm, std::move(nodes), mean, x);
  }

  void append_affine(std::vector<NodeId>& nodes, NodeId last) const {
    const NodeId scale = next_with_constant(last, OpKind::Mul);
    if (scale < 0) return;
    nodes.push_back(scale);
    const NodeId shift = next_with_constant(scale, OpKind::Add);
    if (shift >= 0) nodes.push_back(shift);
  }

  // reshape, instance norm, reshape, * weight, + bias
  void group_norm(NodeId norm) {
    const NodeId before = links_.producer(node(norm).inputs.empty() ? kNoValue : node(norm).inputs[0]);
    const NodeId after = next(norm, OpKind::Reshape);
    if (kind(before) != OpKind::Reshape || after < 0) return;
    std::vector<NodeId> nodes = {before, norm, after};
    append_affine(nodes, after);
    accept(Fusion::GroupNorm, std::move(nodes), norm, node(before).inputs[0]);
  }

  // x / sqrt 2, erf, + 1, * x, * 0.5 in either order of the last two
  void gelu(NodeId erf) {
    const NodeId scale = links_.producer(node(erf).inputs.empty() ? kNoValue : node(erf).inputs[0]);
    if ((kind(scale) != OpKind::Div && kind(scale) != OpKind::Mul) || taken_[std::size_t(scale)]) return;
    const NodeId plus = next_with_constant(erf, OpKind::Add);
    const NodeId first = plus < 0 ? -1 : next(plus, OpKind::Mul);
    if (first < 0) return;
    const NodeId second = next(first, OpKind::Mul);
    std::vector<NodeId> nodes = {scale, erf, plus, first};
    if (second >= 0 && (constant(node(first).inputs[0]) || constant(node(first).inputs[1]) ||
                        constant(node(second).inputs[0]) || constant(node(second).inputs[1]))) {
      nodes.push_back(second);
    }
    accept(Fusion::Gelu, std::move(nodes), erf, node(scale).inputs[0]);
  }

  void silu(NodeId sigmoid) {
    if (node(sigmoid).inputs.empty()) return;
    const ValueId x = links_.origin(node(sigmoid).inputs[0]);
    const NodeId mul = next(sigmoid, OpKind::Mul);
    if (mul < 0 || node(mul).inputs.size() != 2) return;
    if (links_.origin(node(mul).inputs[0]) != x && links_.origin(node(mul).inputs[1]) != x) return;
    accept(Fusion::Silu, {sigmoid, mul}, sigmoid, x);
  }

  // Scores that go straight into the softmax and on into the values' product: scaled_dot_product_attention. A scale or
  // a bias in between means that the network's own code computes attention step by step.
  void attention(NodeId softmax) {
    const NodeId scores = links_.producer(node(softmax).inputs.empty() ? kNoValue : node(softmax).inputs[0]);
    if (kind(scores) != OpKind::MatMul || taken_[std::size_t(scores)] || links_.only_consumer(out(scores)) != softmax)
      return;
    NodeId last = softmax;
    std::vector<NodeId> nodes = {scores, softmax};
    if (const NodeId dropout = next(softmax, OpKind::Dropout); dropout >= 0) {
      nodes.push_back(dropout);
      last = dropout;
    }
    const NodeId values = next(last, OpKind::MatMul);
    if (values < 0 || constant(node(values).inputs[1]) || constant(node(scores).inputs[1])) return;
    nodes.push_back(values);
    // The scale on the queries is part of it.
    const NodeId scale = links_.producer(node(scores).inputs[0]);
    if ((kind(scale) == OpKind::Div || kind(scale) == OpKind::Mul) && !taken_[std::size_t(scale)] &&
        links_.only_consumer(out(scale)) == scores &&
        (constant(node(scale).inputs[0]) || constant(node(scale).inputs[1]))) {
      nodes.push_back(scale);
    }
    accept(Fusion::Attention, std::move(nodes), scores, node(scores).inputs[0]);
  }

  void linear_bias(NodeId product) {
    if (node(product).inputs.size() < 2 || !constant(node(product).inputs[1])) return;
    const NodeId bias = next_with_constant(product, OpKind::Add);
    if (bias < 0) return;
    // A bias has one element per column; anything else is another addition.
    const ValueId other = constant(node(bias).inputs[0]) ? node(bias).inputs[0] : node(bias).inputs[1];
    const Value& value = graph_.values[std::size_t(other)];
    if (!value.has_shape || value.dims.size() != 1) return;
    accept(Fusion::LinearBias, {product, bias}, product, node(product).inputs[0]);
  }

  // PyTorch's exporter writes the padding of an average pool apart, even where there is none.
  void padded_pool(NodeId pad) {
    if (text_attribute(node(pad), "mode", "constant") != "constant") return;
    const NodeId pool = next(pad, OpKind::AveragePool);
    if (pool >= 0) accept(Fusion::PaddedPool, {pad, pool}, pool, node(pad).inputs[0]);
  }

  const Graph& graph_;
  const Block& block_;
  const BlockLinks& links_;
  std::vector<bool> taken_;
  std::vector<Match> matches_;
};

}  // namespace

bool is_folded_batch_norm(const Graph& graph, const Node& convolution) {
  if (convolution.inputs.size() < 2 || convolution.inputs[1] == kNoValue) return false;
  return graph.values[std::size_t(convolution.inputs[1])].has_folded_norm;
}

bool keeps_strides(const Dims& from, const Dims& to) {
  const auto real = [](const Dims& dims) {
    Dims result;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(result), [](std::int64_t d) { return d != 1; });
    return result;
  };
  return real(from) == real(to);
}

std::vector<Match> match_fusions(const Graph& graph, const Block& block, const BlockLinks& links) {
  return Matcher(graph, block, links).run();
}

AttentionPath attention_path(const Block& block, const BlockLinks& links, const Match& match) {
  for (NodeId id = links.producer(block.nodes[std::size_t(match.main)].inputs[0]); id >= 0;
       id = links.producer(block.nodes[std::size_t(id)].inputs[0])) {
    const Node& node = block.nodes[std::size_t(id)];
    switch (node.kind) {
      case OpKind::Transpose: {
        const auto perm = ints_attribute(node, "perm");
        if (perm.empty() || perm.back() + 1 != std::int64_t(perm.size())) return AttentionPath::Unfused;
        break;
      }
      case OpKind::Reshape:
      case OpKind::Gather:
      case OpKind::Squeeze:
      case OpKind::Unsqueeze:
      case OpKind::Split:
      case OpKind::Slice:
      case OpKind::Mul:
      case OpKind::Div: break;
      default: return AttentionPath::Fused;
    }
  }
  return AttentionPath::Fused;
}

std::vector<std::int32_t> match_of_nodes(const Block& block, const std::vector<Match>& matches) {
  std::vector<std::int32_t> match(block.nodes.size(), -1);
  for (std::size_t m = 0; m < matches.size(); ++m) {
    for (const NodeId id : matches[m].nodes) match[std::size_t(id)] = std::int32_t(m);
  }
  return match;
}

}  // namespace forerun
