// Channels that are no multiple of 8 are widened, with every layer and weight that shares them.
#include <algorithm>
#include <map>
#include <numeric>

#include "advice/optimise/graph_edits.hpp"
#include "advice/optimise/places.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMultiple = 8;
constexpr std::int64_t kVocabulary = 1000;  // results at least this wide may end in unused columns

// Which axis of a computed value its channels lie on.
enum class Channels : std::uint8_t { Unknown, Second, Last };

// Sets of axes that must keep one size: channels of computed values, axes of stored ones.
class Sets {
 public:
  std::size_t add() {
    parents_.push_back(parents_.size());
    blocked_.push_back(false);
    return parents_.size() - 1;
  }
  std::size_t find(std::size_t set) {
    while (parents_[set] != set) set = parents_[set] = parents_[parents_[set]];
    return set;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    parents_[b] = a;
    if (blocked_[b]) blocked_[a] = true;
  }
  void block(std::size_t set) { blocked_[find(set)] = true; }
  [[nodiscard]] bool is_blocked(std::size_t set) { return blocked_[find(set)]; }

 private:
  std::vector<std::size_t> parents_;
  std::vector<bool> blocked_;
};

class Aligner {
 public:
  explicit Aligner(Graph& graph) : graph_(graph), where_(graph), kinds_(graph.values.size(), Channels::Unknown) {
    for (std::size_t v = 0; v < graph.values.size(); ++v) channels_.push_back(sets_.add());
    for (const ValueId input : graph.main().inputs) block(input);
  }

  std::size_t run() {
    for (const Node& node : graph_.main().nodes) visit(node);
    for (const ValueId output : graph_.main().outputs) {
      if (output != kNoValue && kinds_[std::size_t(output)] != Channels::Last) block(output);
      if (output != kNoValue) results_.push_back(channels_[std::size_t(output)]);
    }
    for (std::size_t b = 1; b < graph_.blocks.size(); ++b) {
      for (const Node& node : graph_.blocks[b].nodes) block_all(node);
    }
    return widen();
  }

 private:
  struct Axis {
    ValueId value;
    std::size_t axis;
    auto operator<=>(const Axis&) const = default;
  };

  struct WantedShape {
    std::size_t set;
    ValueId shape;  // the stored list
  };

  Value& value(ValueId id) { return graph_.values[std::size_t(id)]; }
  // The set of an axis of a stored value.
  std::size_t stored(ValueId id, std::size_t axis) {
    const auto [found, added] = axes_.try_emplace({id, axis}, 0);
    if (added) found->second = sets_.add();
    if (value(id).stored_bytes >= 0 || value(id).literal) sets_.block(found->second);
    return found->second;
  }
  void block(ValueId id) {
    if (id == kNoValue) return;
    sets_.block(channels_[std::size_t(id)]);
    if (!is_stored(value(id))) return;
    for (std::size_t axis = 0; axis < value(id).dims.size(); ++axis) sets_.block(stored(id, axis));
  }
  void block_all(const Node& node) {
    for (const ValueId id : node.inputs) block(id);
    for (const ValueId id : node.outputs) block(id);
  }
  // The channels of a computed input, which must lie on the wanted axis.
  std::size_t input(ValueId id, Channels wanted) {
    if (is_stored(value(id)) || kinds_[std::size_t(id)] != wanted) block(id);
    return channels_[std::size_t(id)];
  }
  std::size_t output(ValueId id, Channels kind) {
    kinds_[std::size_t(id)] = kind;
    return channels_[std::size_t(id)];
  }
  bool is_matrix(ValueId id, std::size_t rank) {
    return id != kNoValue && is_weight(value(id)) && value(id).has_shape && value(id).dims.size() == rank;
  }

  void visit(const Node& node) {
    const bool has_operands = !node.inputs.empty() && node.inputs[0] != kNoValue && !node.outputs.empty();
    bool is_known = has_operands && node.blocks.empty();
    if (is_known) {
      switch (node.kind) {
        case OpKind::Conv: is_known = visit_convolution(node); break;
        case OpKind::MatMul:
        case OpKind::Gemm: is_known = visit_product(node); break;
        case OpKind::Reshape: is_known = visit_reshape(node); break;
        case OpKind::Gather: is_known = visit_lookup(node); break;
        case OpKind::BatchNormalization: is_known = visit_norm(node, Channels::Second); break;
        case OpKind::LayerNormalization:
        case OpKind::RMSNormalization:
          is_known = int_attribute(node, "axis", -1) == -1 && visit_norm(node, Channels::Last);
          break;
        default: is_known = visit_elementwise(node);
      }
    }
    if (!is_known) block_all(node);
  }

  bool visit_convolution(const Node& node) {
    if (node.inputs.size() < 2 || node.inputs[1] == kNoValue || !is_weight(value(node.inputs[1]))) return false;
    const ValueId weight = node.inputs[1];
    const Dims& dims = value(weight).dims;
    const std::int64_t groups = int_attribute(node, "group", 1);
    if (dims.size() < 3 || (groups != 1 && (groups != dims[0] || dims[1] != 1))) return false;
    const std::size_t in = input(node.inputs[0], Channels::Second);
    const std::size_t out = output(node.outputs[0], Channels::Second);
    sets_.join(out, stored(weight, 0));
    sets_.join(in, groups == 1 ? stored(weight, 1) : out);
    if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) sets_.join(out, stored(node.inputs[2], 0));
    return true;
  }

  bool visit_product(const Node& node) {
    if (node.inputs.size() < 2 || !is_matrix(node.inputs[1], 2)) return false;
    if (int_attribute(node, "transA", 0) != 0) return false;
    const bool is_transposed = int_attribute(node, "transB", 0) != 0;
    sets_.join(input(node.inputs[0], Channels::Last), stored(node.inputs[1], is_transposed ? 1 : 0));
    const std::size_t out = output(node.outputs[0], Channels::Last);
    sets_.join(out, stored(node.inputs[1], is_transposed ? 0 : 1));
    if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
      if (!is_matrix(node.inputs[2], 1)) return false;
      sets_.join(out, stored(node.inputs[2], 0));
    }
    return true;
  }

  // A change of the axes before the last: the wanted shape ends in the channels, which widen() checks.
  bool visit_reshape(const Node& node) {
    if (node.inputs.size() != 2 || node.inputs[1] == kNoValue || kinds_[std::size_t(node.inputs[0])] != Channels::Last)
      return false;
    const ValueId shape = node.inputs[1];
    const auto& literal = value(shape).literal;
    if (!literal || literal->ints.empty() || literal->ints.back() <= 0 || !where_.has_one_use(shape)) return false;
    const std::size_t in = input(node.inputs[0], Channels::Last);
    sets_.join(in, output(node.outputs[0], Channels::Last));
    shapes_.push_back({in, shape});
    return true;
  }

  bool visit_lookup(const Node& node) {
    if (node.inputs.size() < 2 || !is_matrix(node.inputs[0], 2) || int_attribute(node, "axis", 0) != 0) return false;
    sets_.join(output(node.outputs[0], Channels::Last), stored(node.inputs[0], 1));
    stored(node.inputs[0], 0);
    block(node.inputs[1]);
    return true;
  }

  bool visit_norm(const Node& node, Channels kind) {
    const std::size_t in = input(node.inputs[0], kind);
    sets_.join(in, output(node.outputs[0], kind));
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      if (!is_stored(value(node.inputs[i])) || value(node.inputs[i]).dims.size() != 1) return false;
      sets_.join(in, stored(node.inputs[i], 0));
    }
    for (std::size_t i = 1; i < node.outputs.size(); ++i) block(node.outputs[i]);
    return true;
  }

  static bool keeps_channels(OpKind kind) {
    if (kind == OpKind::Softmax || kind == OpKind::LogSoftmax || kind == OpKind::Hardmax) return false;
    if (kind >= OpKind::Abs && kind <= OpKind::Xor) return true;
    constexpr OpKind kOthers[] = {OpKind::MaxPool,       OpKind::AveragePool, OpKind::GlobalAveragePool,
                                  OpKind::GlobalMaxPool, OpKind::Dropout,     OpKind::Cast};
    return std::find(std::begin(kOthers), std::end(kOthers), kind) != std::end(kOthers);
  }

  // Joins the channels of all operands; a stored operand must be one number or lie along the channels.
  bool visit_elementwise(const Node& node) {
    if (!keeps_channels(node.kind)) return false;
    Channels kind = Channels::Unknown;
    for (const ValueId id : node.inputs) {
      if (id != kNoValue && !is_stored(value(id))) kind = std::max(kind, kinds_[std::size_t(id)]);
    }
    if (kind == Channels::Unknown) return false;
    const std::size_t out = output(node.outputs[0], kind);
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (!is_stored(value(id))) {
        sets_.join(out, input(id, kind));
      } else if (value(id).has_shape && elements_of(value(id)) > 1 && !join_stored(id, kind, out)) {
        return false;
      }
    }
    for (std::size_t i = 1; i < node.outputs.size(); ++i) block(node.outputs[i]);
    return true;
  }

  bool join_stored(ValueId id, Channels kind, std::size_t out) {
    const Dims& dims = value(id).dims;
    std::size_t axis = dims.size() - 1;
    if (kind == Channels::Second) {  // [C, 1, 1] or [1, C, 1, 1]: at least one axis follows
      axis = 0;
      while (axis + 1 < dims.size() && dims[axis] == 1) ++axis;
      if (axis + 1 == dims.size()) return false;
    }
    if (elements_of(value(id)) != dims[axis]) return false;
    sets_.join(out, stored(id, axis));
    return true;
  }

  std::size_t widen() {
    std::map<std::size_t, std::vector<Axis>> members;  // stored axes by set
    for (const auto& [axis, set] : axes_) members[sets_.find(set)].push_back(axis);
    std::vector<std::size_t> results;
    for (const std::size_t set : results_) results.push_back(sets_.find(set));
    for (const WantedShape& wanted : shapes_) {
      const auto found = members.find(sets_.find(wanted.set));
      if (found == members.end()) continue;
      const Axis& axis = found->second.front();
      if (value(wanted.shape).literal->ints.back() != value(axis.value).dims[axis.axis]) sets_.block(wanted.set);
    }
    std::map<std::size_t, std::int64_t> widened;
    for (const auto& [set, axes] : members) {
      const std::int64_t size = value(axes.front().value).dims[axes.front().axis];
      const bool is_result = std::find(results.begin(), results.end(), set) != results.end();
      const bool same =
          std::all_of(axes.begin(), axes.end(), [&](const Axis& a) { return value(a.value).dims[a.axis] == size; });
      if (sets_.is_blocked(set) || !same || size <= kMultiple || size % kMultiple == 0) continue;
      if (is_result && size < kVocabulary) continue;
      widened[set] = (size + kMultiple - 1) / kMultiple * kMultiple;
      for (const Axis& a : axes) value(a.value).dims[a.axis] = widened[set];
    }
    if (widened.empty()) return 0;
    for (const WantedShape& wanted : shapes_) {
      const auto found = widened.find(sets_.find(wanted.set));
      if (found != widened.end()) value(wanted.shape).literal->ints.back() = found->second;
    }
    for (std::size_t v = 0; v < kinds_.size(); ++v) {
      const auto found = widened.find(sets_.find(channels_[v]));
      Value& computed = graph_.values[v];
      if (found == widened.end() || !computed.has_shape || computed.dims.empty()) continue;
      if (kinds_[v] == Channels::Second && computed.dims.size() > 1) computed.dims[1] = found->second;
      if (kinds_[v] == Channels::Last) computed.dims.back() = found->second;
    }
    for (Node& node : graph_.main().nodes) {
      if (node.kind != OpKind::Conv || int_attribute(node, "group", 1) == 1) continue;
      const Dims& dims = value(node.inputs[1]).dims;
      if (dims.size() > 1 && dims[1] == 1) set_attribute(node, "group", AttributeValue(dims[0]));
    }
    return widened.size();
  }

  Graph& graph_;
  Places where_;
  std::vector<WantedShape> shapes_;  // of Reshape
  Sets sets_;
  std::vector<std::size_t> channels_;  // by value
  std::vector<Channels> kinds_;        // by value
  std::map<Axis, std::size_t> axes_;   // of stored values
  std::vector<std::size_t> results_;   // sets of the network's results
};

}  // namespace

std::size_t align_widths(Graph& graph) { return Aligner(graph).run(); }

}  // namespace forerun
