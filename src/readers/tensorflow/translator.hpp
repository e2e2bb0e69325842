// Turns a Program into a Graph: calls are inlined, bodies of control flow become blocks, and every value is kept in the
// order of dimensions that its operators run in. PyTorch's convolutions take channels first, TensorFlow's channels
// last: a chain of them needs no transposition. Where an operator needs the other order of a value, a Transpose is
// written.
//
// While it translates, shapes are inferred for one size of every free dimension (the file's example or the analysis'
// default), so that builders see ranks. What depends on those sizes is dropped at the end: analysis infers it anew.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "readers/tensorflow/budget.hpp"
#include "readers/tensorflow/operator_table.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

// A native tensor in the graph: the value with its dimensions as TensorFlow states them, the same channels first, or
// both. Constants are made when they are asked for.
struct Slot {
  ValueId plain = kNoValue;
  ValueId first = kNoValue;
  const Tensor* constant = nullptr;
  bool is_dead = false;       // in the branch of a Switch that is not taken
  bool is_open_list = false;  // a tensor list that a loop fills
  ValueId item = kNoValue;    // what a loop's body writes to its list
  bool is_shared = false;     // the value is read elsewhere under another name
  std::optional<bool> truth;  // of a Switch's predicate, where the reader decides it

  [[nodiscard]] bool known() const { return plain != kNoValue || first != kNoValue || constant != nullptr; }
};

struct Scope {
  const Function* function = nullptr;
  const Scope* caller = nullptr;
  std::int32_t block = 0;
  int depth = 0;
  std::string prefix;              // of names inside a call
  std::vector<Slot> slots;         // by tensor
  std::vector<std::int32_t> uses;  // by tensor: operations and results that read it
};

class Translator {
 public:
  Translator(const Program& program, Graph& graph, Budget& budget)
      : program_(program), graph_(graph), budget_(budget) {}

  Status run();

  // A scale or zero point: their numbers change no cost, so all of a type share one value.
  ValueId quantisation(DType type) { return quantisation_parameter(type); }
  // Translates a function into a block: operands in, results out.
  Status inline_function(std::int32_t function, Scope& caller, std::int32_t block, const std::string& name,
                         const std::vector<Slot>& operands, std::vector<Slot>& results);
  // A weight that stands for several stored ones.
  ValueId made_constant(Tensor tensor);
  // A tensor that is stored although its file does not say so.
  const Tensor* stored(const Tensor& tensor, bool is_state) {
    made_.push_back(tensor);
    made_.back().is_constant = true;
    made_.back().is_state = is_state;
    return &made_.back();
  }
  // The same stored tensor with other dimensions; one for every use of it.
  const Tensor* reshaped(const Tensor& tensor, const Dims& dims) {
    const auto [known, is_new] = reshaped_.try_emplace({&tensor, dims}, nullptr);
    if (!is_new) return known->second;
    Tensor copy = tensor;
    copy.dims = dims;
    return known->second = stored(copy, tensor.is_state);
  }
  // Nothing but the batch of this value depends on the free dimensions.
  [[nodiscard]] bool has_fixed_space(ValueId id) const {
    return !has_free_space_ || (id != kNoValue && is_fixed_[std::size_t(id)]);
  }
  // The node of this scope's block that made a value; nullptr when there is none.
  [[nodiscard]] Node* producer_of(ValueId id, const Scope& scope);

 private:
  friend class Call;
  struct Producer {
    std::int32_t block = -1;
    std::int32_t node = -1;
  };

  // translator.cpp
  Status add_inputs(Scope& scope);
  Status add_outputs(Scope& scope);
  Status translate(Scope& scope);
  Status translate(Scope& scope, const Operation& operation);
  Status open(Scope& scope, std::int32_t function, const Scope* caller, const std::string& name);
  [[nodiscard]] bool skip_dead(Scope& scope, const Operation& operation);
  void keep_unknown(Call& call);
  void finish();
  [[nodiscard]] std::vector<bool> wanted_first(std::int32_t function, int depth);
  void warn(const std::string& text);
  void warn_of(const std::string& what, const std::string& name, const std::string& problem);

  // values.cpp
  ValueId new_value(DType type);
  ValueId constant(const Tensor& tensor, const Dims& dims);
  ValueId integers(std::vector<std::int64_t> values, bool is_scalar);
  ValueId quantisation_parameter(DType type);
  ValueId emit(Scope& scope, Node node, std::size_t results);
  ValueId plain(Scope& scope, Slot& slot, const std::string& name);
  ValueId first(Scope& scope, Slot& slot, const std::string& name, std::size_t rank);
  [[nodiscard]] std::optional<Dims> shape(const Slot& slot) const;
  // An operand that is missing reads as a value of which nothing is known.
  [[nodiscard]] Value& value(ValueId id) {
    if (id != kNoValue) return graph_.values[std::size_t(id)];
    return nothing_ = Value{};
  }
  [[nodiscard]] const Value& value(ValueId id) const {
    static const Value kNothing;
    return id == kNoValue ? kNothing : graph_.values[std::size_t(id)];
  }

  const Program& program_;
  Graph& graph_;
  Budget& budget_;
  Value nothing_;
  Slot no_slot_;
  Status status_ = ok();             // the first limit that was exceeded
  std::vector<Producer> producers_;  // by value
  std::map<std::pair<const Tensor*, Dims>, ValueId> constants_;
  std::map<std::vector<std::int64_t>, ValueId> integers_[2];
  std::map<DType, ValueId> quantisation_;
  std::map<std::pair<const Tensor*, Dims>, const Tensor*> reshaped_;
  std::deque<Tensor> made_;                           // tensors that no file states
  std::map<std::int32_t, std::vector<bool>> wanted_;  // by function: which inputs are wanted channels first
  struct Warning {
    std::string start, end;
    std::int64_t others = 0;
  };
  std::vector<Warning> warnings_;
  std::map<std::string, std::size_t> seen_warnings_;
  std::vector<bool> is_declared_;  // by value: its shape is what the file declares
  std::vector<bool> is_fixed_;     // by value: shape and contents are the same for every size of the free dimensions
  bool has_free_space_ = false;    // a dimension other than the batch is free
  std::vector<std::int32_t> open_calls_;  // functions being inlined
};

// Dimension `axis` of TensorFlow's order within a value of `rank` dimensions that is channels first.
[[nodiscard]] constexpr std::int64_t first_axis(std::int64_t axis, std::size_t rank) {
  if (axis == 0 || rank < 3) return axis;
  return axis == std::int64_t(rank) - 1 ? 1 : axis + 1;
}
// {0, 3, 1, 2} for rank 4: what transposes channels last to first, and back.
[[nodiscard]] std::vector<std::int64_t> to_first(std::size_t rank);
[[nodiscard]] std::vector<std::int64_t> to_last(std::size_t rank);
[[nodiscard]] Dims permute(const Dims& dims, const std::vector<std::int64_t>& order);

}  // namespace forerun::tensorflow
