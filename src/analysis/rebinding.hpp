// The work behind rebind_batch.hpp. A graph is inferred twice, node by node: once as it is and once with the new batch.
// In the second inference the position of the batch in every value is known, which distinguishes numbers in the file
// that stand for the old batch from others.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analysis/infer_shapes.hpp"
#include "graph/graph.hpp"

namespace forerun {

class Rebinding {
 public:
  // `inputs`: what the inputs' dimensions are to be, in their order. `declared`: the same file with the new batch,
  // where it declares shapes for it; may be nullptr.
  Rebinding(const Graph& graph, std::int64_t from, std::int64_t to, std::vector<Dims> inputs, const Graph* declared)
      : given_(graph), from_(from), to_(to), inputs_(std::move(inputs)), declared_(declared) {}

  // The graph with the new batch, not inferred; or why it cannot run it, without a full stop.
  Result<Graph> run();

 private:
  // Where the batch lies in a value's elements, in row-major order: how many steps are taken around it. 1 when it is
  // the outermost dimension; invariant under Reshape.
  static constexpr std::int64_t kNone = 0, kUnclear = -1;

  struct Widened {
    ValueId source = kNoValue, indices = kNoValue, widened = kNoValue;
    std::int64_t axis = 0;
  };
  InferenceHooks hooks_of(std::function<void(Node&)> before, std::function<void(Node&)> after);
  static ValueId result_of(const Node& node) { return node.outputs.empty() ? kNoValue : node.outputs.front(); }
  static std::int64_t outer_product(const Dims& dims, std::size_t end);

  // Keeps the first reason.
  void refuse(const Node& node, const std::string& why);

  // Inputs take the new batch; shapes that the file declares for inner values are those of the old one.
  void prepare(Graph& graph) const;
  [[nodiscard]] const Value* old_value(ValueId id) const;
  [[nodiscard]] const Value& new_value(ValueId id) const { return new_.values[std::size_t(id)]; }

  // The one dimension that differs between the two inferences; -1 when none does, nullopt when several do.
  [[nodiscard]] std::optional<std::ptrdiff_t> changed_dim(ValueId id) const;

  // kNone for a value that does not grow with the batch.
  [[nodiscard]] std::int64_t outer_of(ValueId id) const;
  ValueId add_constant(Dims contents);

  // Contents that follow from the inputs' shapes take the new batch by themselves.
  [[nodiscard]] bool follows(ValueId id) const;

  // Before a node is inferred: gives it operands for the new batch.
  void adjust(Node& node);
  void adjust_reshape(Node& node);

  // The dimension of a Reshape's result that holds the batch: preferably the batch alone, else one that begins with it,
  // else one that contains it.
  [[nodiscard]] std::optional<std::size_t> place_of(const Dims& dims, std::int64_t outer) const;

  // Expand and Resize state all sizes of their result.
  void adjust_sizes(Node& node, std::size_t slot);

  // Constants that the exporter wrote for the old batch (an expanded class token, positions) take its size.
  void widen_operands(Node& node);

  // The constant with its rows along `axis` repeated: a Gather that is evaluated before the network runs, at no cost.
  ValueId widen(const Node& node, ValueId source, std::size_t axis, std::int64_t size);

  // After it was inferred: where the batch lies in its results.
  void locate(Node& node);
  std::int64_t place_after(const Node& node, ValueId carrier, ValueId id, std::size_t changed) const;

  // A shape that only the file declares and that does not depend on the batch.
  void keep_declared(ValueId id);

  // Each node's work must grow with the batch or not depend on it.
  void check_costs();

  // Whether it reads any value that the file does not store.
  [[nodiscard]] bool reads_input(const Node& node) const;

  // Some result of the network must have the batch.
  void check_outputs();

  // The graph as given, with what the second inference found to be changed.
  Graph rebuild();
  [[nodiscard]] Node gather_node(const Widened& one) const;

  const Graph& given_;
  std::int64_t from_, to_;
  std::vector<Dims> inputs_;
  const Graph* declared_;
  Graph old_, new_;
  std::set<ValueId> failed_before_;
  std::map<ValueId, std::int64_t> outer_;
  std::vector<ValueId> kept_;
  std::map<ValueId, std::vector<Widened>> widened_;  // by the first result of the node that reads them
  std::string refusal_;
  std::string lost_;  // the first node whose operands grow with the batch and whose results do not
};

[[nodiscard]] inline bool has_known_dims(const Value& value) {
  return value.has_shape && value.form == ValueForm::Tensor &&
         std::all_of(value.dims.begin(), value.dims.end(), [](std::int64_t d) { return d >= 0; });
}

[[nodiscard]] inline std::string name_with_type(const Node& node) {
  return node.op_type + (node.name.empty() ? "" : " '" + node.name + "'");
}

}  // namespace forerun
