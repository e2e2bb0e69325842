// One call of a PyTorch operator on its way into the graph: its arguments by name, and what its result is. The first
// thing that is missing or does not fit fails the call; whoever translates it need not look before the end.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "readers/torch/argument.hpp"
#include "readers/torch/graph_writer.hpp"

namespace forerun::pytorch {

struct Operator;

// The operator as either file names it, with its arguments: exported programs name every one, scripts the later ones.
struct Operation {
  std::string space = "aten";
  std::string name;                                         // "conv2d"
  std::string overload;                                     // "Tensor"; empty when the file does not say
  std::vector<std::pair<std::string, Argument>> arguments;  // an empty name: by position
  std::vector<bool> used;   // which results something uses; empty when the file does not say
  std::size_t results = 1;  // 0 when the file does not say
};

class Call {
 public:
  Call(const Operation& operation, const Operator& row, GraphWriter& writer)
      : operation_(operation), row_(row), writer_(writer) {}

  // Arguments; nullptr for what is left out or None.
  [[nodiscard]] const Argument* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] bool is_tensor(std::string_view name) const;
  [[nodiscard]] ValueId tensor(std::string_view name);           // fails when it is not one
  [[nodiscard]] ValueId optional_tensor(std::string_view name);  // kNoValue when it is left out
  [[nodiscard]] std::vector<ValueId> tensors(std::string_view name);
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback);
  [[nodiscard]] std::int64_t integer(std::string_view name);  // fails when it is left out
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name);
  // A list, or one number for each of `count` dimensions; `fallback` when it is left out or empty.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name, std::size_t count, std::int64_t fallback);
  [[nodiscard]] double real(std::string_view name, double fallback);
  [[nodiscard]] bool flag(std::string_view name, bool fallback);
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback);
  [[nodiscard]] std::optional<DType> dtype(std::string_view name);
  [[nodiscard]] std::span<const std::pair<std::string, Argument>> arguments() const { return operation_.arguments; }

  // Values.
  [[nodiscard]] const Dims& dims(ValueId id);  // fails when the shape is not known
  [[nodiscard]] std::size_t rank(ValueId id) { return dims(id).size(); }
  [[nodiscard]] std::size_t axis(std::int64_t axis, std::size_t rank);  // fails when out of range
  [[nodiscard]] DType dtype_of(ValueId id) const { return writer_.value(id).dtype; }
  [[nodiscard]] ValueId scalar(double value, DType type);
  [[nodiscard]] ValueId ints(std::vector<std::int64_t> values);  // a 1-D int64 constant
  // A tensor or a number as a constant of the type of `like`.
  [[nodiscard]] ValueId operand(std::string_view name, DType like);
  [[nodiscard]] ValueId cast(ValueId id, DType type);  // `id` itself when it is of that type

  // Adding nodes to the graph.
  ValueId node(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {},
               std::string_view op_type = {});
  std::vector<ValueId> nodes(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                             std::size_t results);
  ValueId reshape(ValueId id, std::vector<std::int64_t> shape);
  ValueId transpose(ValueId id, std::vector<std::int64_t> order);
  ValueId squeeze(ValueId id, std::vector<std::int64_t> axes);
  ValueId unsqueeze(ValueId id, std::vector<std::int64_t> axes);
  [[nodiscard]] ValueId turned(ValueId matrix) { return writer_.transposed(matrix); }
  [[nodiscard]] GraphWriter& writer() { return writer_; }

  // Results, in order.
  void give(ValueId id) { results.push_back({Tensor{id}}); }
  void give(Argument argument) { results.push_back(std::move(argument)); }
  void give_list(const std::vector<ValueId>& ids);

  [[nodiscard]] bool is_used(std::size_t result) const {
    return result >= operation_.used.size() || operation_.used[result];
  }

  void fail(std::string what);
  [[nodiscard]] bool failed() const { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const Operator& row() const { return row_; }
  [[nodiscard]] const Operation& operation() const { return operation_; }

  std::vector<Argument> results;

 private:
  const Operation& operation_;
  const Operator& row_;
  GraphWriter& writer_;
  std::string failure_;
};

// A number, of whatever kind; nullopt for other things.
[[nodiscard]] std::optional<std::int64_t> integer_of(const Argument& argument);
[[nodiscard]] std::optional<double> real_of(const Argument& argument);

}  // namespace forerun::pytorch
