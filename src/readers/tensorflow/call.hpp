// What a builder sees of one native operation: its operands in either order of dimensions, its attributes, and how to
// add nodes and results.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/tensorflow/translator.hpp"

namespace forerun::tensorflow {

using Ints = std::vector<std::int64_t>;
using Attributes = std::vector<Attribute>;

class Call {
 public:
  Call(Translator& translator, Scope& scope, const Operation& operation, const OperatorRow& row)
      : translator_(translator), scope_(scope), operation_(operation), row_(row) {}

  [[nodiscard]] const Operation& operation() const { return operation_; }
  [[nodiscard]] OpKind kind() const { return row_.kind; }
  [[nodiscard]] Translator& translator() { return translator_; }
  [[nodiscard]] Scope& scope() { return scope_; }
  [[nodiscard]] Graph& graph() { return translator_.graph_; }

  [[nodiscard]] std::size_t inputs() const { return operation_.inputs.size(); }
  [[nodiscard]] std::size_t outputs() const { return operation_.outputs.size(); }
  [[nodiscard]] bool has(std::size_t i) const;
  [[nodiscard]] Slot& slot(std::size_t i) {
    if (i < inputs() && operation_.inputs[i] != kNoTensor) return scope_.slots[std::size_t(operation_.inputs[i])];
    return translator_.no_slot_ = Slot{};
  }
  [[nodiscard]] const Tensor& tensor(std::size_t i) const;         // of an input
  [[nodiscard]] const Tensor* output_tensor(std::size_t i) const;  // nullptr when it is left out
  // In TensorFlow's order; nullopt when not known.
  [[nodiscard]] std::optional<Dims> shape(std::size_t i) const;
  [[nodiscard]] std::optional<std::size_t> rank(std::size_t i) const;
  [[nodiscard]] DType dtype(std::size_t i) const;
  // Contents that hold for every size of the free dimensions, in TensorFlow's order; nullptr when not known.
  [[nodiscard]] const Literal* contents(std::size_t i) const;
  [[nodiscard]] const Ints* integers(std::size_t i) const;
  // The same for one size of the free dimensions.
  [[nodiscard]] const Ints* example(std::size_t i) const;
  [[nodiscard]] bool is_constant(std::size_t i) const { return has(i) && slot_of(i).constant != nullptr; }
  // Exists channels first and in no other order.
  [[nodiscard]] bool is_first(std::size_t i) const;

  [[nodiscard]] ValueId plain(std::size_t i);
  [[nodiscard]] ValueId first(std::size_t i, std::size_t rank = 4);
  // In the order of the operation's data_format: channels first, with `rank` dimensions.
  [[nodiscard]] ValueId image(std::size_t i, std::size_t rank);
  // A constant, or its transposition: dimension k of the result is dimension order[k] of the operand.
  [[nodiscard]] ValueId permuted(std::size_t i, const Ints& order);
  // A constant with other dimensions and the same elements; a Reshape of anything else.
  [[nodiscard]] ValueId reshaped(std::size_t i, const Dims& dims);

  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  [[nodiscard]] double real(std::string_view name, double fallback = 0) const;
  [[nodiscard]] std::string_view text(std::string_view name, std::string_view fallback = {}) const;
  [[nodiscard]] Ints ints(std::string_view name) const;
  [[nodiscard]] const Attribute* attribute(std::string_view name) const;
  [[nodiscard]] std::int32_t function(std::string_view name) const;  // -1: none

  // Adds a node and returns its first result; the others follow it.
  ValueId node(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {}, std::size_t results = 1);
  ValueId integer_list(Ints values) { return translator_.integers(std::move(values), false); }
  ValueId integer_scalar(std::int64_t value) { return translator_.integers({value}, true); }
  [[nodiscard]] const Value& value(ValueId id) const { return translator_.value(id); }
  [[nodiscard]] Value& value(ValueId id) { return translator_.value(id); }
  ValueId transposed(ValueId id, const Ints& order);
  ValueId reshape(ValueId id, Ints dims);

  // Result k of the operation; channels first only with three or more dimensions.
  void result(std::size_t k, ValueId id, bool channels_first = false);
  // Result k is the operand itself.
  void alias(std::size_t k, std::size_t input);
  // The result of an image operator: in the order of data_format.
  void image_result(std::size_t k, ValueId id);
  [[nodiscard]] bool is_nchw() const;
  // The operation stays in the graph as an unknown operator.
  void unknown() { is_unknown_ = true; }
  [[nodiscard]] bool is_unknown() const { return is_unknown_; }
  void warn(const std::string& problem);
  void fail(const Status& status);  // a limit was exceeded: reading ends

  // For control flow.
  [[nodiscard]] const Program& program() const { return translator_.program_; }
  [[nodiscard]] Slot operand(std::size_t i);
  void set_slot(std::size_t k, const Slot& slot);
  void set_truth(std::size_t k, bool truth);
  void kill(std::size_t k);  // result k is never computed
  [[nodiscard]] ValueId plain_in(Slot& slot, std::int32_t block);
  ValueId add(Node node, std::size_t results) { return translator_.emit(scope_, std::move(node), results); }
  ValueId fresh(DType type, std::optional<Dims> dims);
  void copy_type(ValueId to, ValueId from);
  void copy_stacked(ValueId to, ValueId item, ValueId count);

  // Everything that reads result k multiplies it with a stored matrix: the order of its elements is free.
  [[nodiscard]] bool feeds_dense_layers(std::size_t k) const;
  // The node that made `id` if nothing else reads operand i and it is in this block; nullptr otherwise.
  [[nodiscard]] Node* only_producer(std::size_t i, ValueId id);

 private:
  [[nodiscard]] const Slot& slot_of(std::size_t i) const { return scope_.slots[std::size_t(operation_.inputs[i])]; }

  Translator& translator_;
  Scope& scope_;
  const Operation& operation_;
  const OperatorRow& row_;
  bool is_unknown_ = false;
};

}  // namespace forerun::tensorflow
