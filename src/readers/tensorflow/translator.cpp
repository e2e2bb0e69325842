#include "readers/tensorflow/translator.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "readers/tensorflow/call.hpp"
#include "readers/tensorflow/fuse.hpp"
#include "readers/tensorflow/fuse_recurrent.hpp"
#include "readers/tensorflow/guess_shape.hpp"

namespace forerun::tensorflow {
namespace {

struct FreeDimension {
  std::string name;
  std::int64_t size;  // that shapes are inferred for; the analysis has its own default
};

FreeDimension free_dimension(const Tensor& tensor, std::size_t i, std::size_t position_of_input,
                             const std::string& guessed) {
  const std::size_t rank = tensor.dims.size();
  std::string name = guessed;
  if (name.empty() && i == 0) name = "batch";
  if (name.empty() && rank >= 4 && i + 1 == rank) name = "channels";
  if (name.empty() && rank == 4) name = i == 1 ? "height" : "width";
  if (name.empty() && rank <= 3 && i == 1) name = "sequence";
  if (name.empty()) name = "input" + std::to_string(position_of_input) + "_dim" + std::to_string(i);
  std::int64_t size = 1;
  if (name == "channels") size = 3;
  if (name == "height" || name == "width") size = 224;
  if (name == "sequence") size = is_floating(tensor.dtype) && rank <= 2 ? 512 : 128;
  return {std::move(name), size};
}

// A new axis next to the channels makes no image of two dimensions out of one.
bool keeps_channels(const Function& function, const Operation& operation) {
  if (operation.type != "ExpandDims" && operation.type != "EXPAND_DIMS") return true;
  if (operation.inputs.size() < 2 || operation.inputs[1] == kNoTensor) return false;
  const auto& literal = function.tensors[std::size_t(operation.inputs[1])].literal;
  if (!literal || literal->ints.size() != 1) return false;
  const std::int64_t axis = literal->ints[0];
  return axis == 1 || axis == 2 || axis == -2 || axis == -3;
}

}  // namespace

void Translator::warn(const std::string& text) {
  if (!seen_warnings_.try_emplace(text, warnings_.size()).second) return;
  warnings_.push_back({.start = text, .end = {}, .others = 0});
}

void Translator::warn_of(const std::string& what, const std::string& name, const std::string& problem) {
  const auto [seen, is_new] = seen_warnings_.try_emplace(what + '\0' + problem, warnings_.size());
  if (is_new) {
    warnings_.push_back({.start = what + " " + in_quotes(name), .end = ": " + problem, .others = 0});
  } else {
    ++warnings_[seen->second].others;
  }
}

Status Translator::open(Scope& scope, std::int32_t index, const Scope* caller, const std::string& name) {
  constexpr std::size_t kLongestPrefix = 200;
  if (std::find(open_calls_.begin(), open_calls_.end(), index) != open_calls_.end()) {
    return bad_input("function " + in_quotes(program_.functions[std::size_t(index)].name) + " calls itself");
  }
  if (int(open_calls_.size()) >= budget_.limits().depth) {
    return bad_input("calls are nested more than " + std::to_string(budget_.limits().depth) + " deep");
  }
  const Function& function = program_.functions[std::size_t(index)];
  FORERUN_CHECK(budget_.charge(std::int64_t(function.tensors.size() * (sizeof(Slot) + 4))));
  scope.function = &function;
  scope.caller = caller;
  if (caller != nullptr) {
    scope.prefix = caller->prefix;
    if (!name.empty() && scope.prefix.size() + name.size() < kLongestPrefix) scope.prefix += name + "/";
  }
  scope.slots.resize(function.tensors.size());
  scope.uses.assign(function.tensors.size(), 0);
  for (std::size_t i = 0; i < function.tensors.size(); ++i) {
    const Tensor& tensor = function.tensors[i];
    if (tensor.is_constant || (tensor.is_variable && !tensor.is_written)) scope.slots[i].constant = &tensor;
  }
  const auto use = [&](TensorId id) {
    if (id != kNoTensor) ++scope.uses[std::size_t(id)];
  };
  for (const Operation& operation : function.operations) {
    for (const TensorId id : operation.inputs) use(id);
  }
  for (const TensorId id : function.outputs) use(id);
  return ok();
}

Status Translator::inline_function(std::int32_t index, Scope& caller, std::int32_t block, const std::string& name,
                                   const std::vector<Slot>& operands, std::vector<Slot>& results) {
  if (index < 0 || std::size_t(index) >= program_.functions.size()) return bad_input("a call of no function");
  Scope scope;
  scope.block = block;
  FORERUN_CHECK(open(scope, index, &caller, name));
  const Function& function = *scope.function;
  for (std::size_t i = 0; i < function.inputs.size() && i < operands.size(); ++i) {
    if (function.inputs[i] != kNoTensor) scope.slots[std::size_t(function.inputs[i])] = operands[i];
  }
  open_calls_.push_back(index);
  const Status translated = translate(scope);
  open_calls_.pop_back();
  FORERUN_CHECK(translated);
  results.clear();
  for (const TensorId id : function.outputs) {
    results.push_back(id == kNoTensor ? Slot{} : scope.slots[std::size_t(id)]);
    if (id != kNoTensor && scope.uses[std::size_t(id)] != 1) results.back().is_shared = true;
  }
  return ok();
}

std::vector<bool> Translator::wanted_first(std::int32_t index, int depth) {
  const Function& function = program_.functions[std::size_t(index)];
  if (const auto known = wanted_.find(index); known != wanted_.end()) return known->second;
  wanted_[index].assign(function.inputs.size(), false);  // of a function that calls itself
  std::vector<bool> wanted(function.tensors.size(), false);
  for (auto operation = function.operations.rbegin(); operation != function.operations.rend(); ++operation) {
    const OperatorRow* row = find_operator(program_.operators, operation->type);
    if (row == nullptr || row->wants == Wants::AsIs) continue;
    const bool any = std::any_of(operation->outputs.begin(), operation->outputs.end(),
                                 [&](TensorId id) { return id != kNoTensor && wanted[std::size_t(id)]; });
    const auto want = [&](std::size_t input) {
      if (input < operation->inputs.size() && operation->inputs[input] != kNoTensor)
        wanted[std::size_t(operation->inputs[input])] = true;
    };
    if (row->wants == Wants::ChannelsFirst) {
      if (!states_channels_first(*operation)) want(row->image);
    } else if (row->wants == Wants::Callee && depth < budget_.limits().depth && !operation->functions.empty()) {
      const std::vector<bool> inner = wanted_first(operation->functions.front().second, depth + 1);
      for (std::size_t i = 0; i < inner.size(); ++i) {
        if (inner[i]) want(i);
      }
    } else if (any && keeps_channels(function, *operation)) {
      for (std::size_t i = 0; i < operation->inputs.size(); ++i) want(i);
    }
  }
  std::vector<bool> result;
  for (const TensorId id : function.inputs) result.push_back(id != kNoTensor && wanted[std::size_t(id)]);
  return wanted_[index] = result;
}

Status Translator::add_inputs(Scope& scope) {
  const Function& function = *scope.function;
  const std::vector<bool> wanted = wanted_first(0, 0);
  bool any_image = false;
  for (std::size_t n = 0; n < function.inputs.size(); ++n) {
    if (function.inputs[n] == kNoTensor) continue;
    Slot& slot = scope.slots[std::size_t(function.inputs[n])];
    if (slot.known()) continue;
    const Tensor& tensor = function.tensors[std::size_t(function.inputs[n])];
    const ValueId id = new_value(tensor.dtype);
    Value& made = value(id);
    made.name = tensor.name;
    made.role = tensor.is_variable ? ValueRole::Cache : ValueRole::Input;
    GuessedShape guessed;
    made.has_shape = tensor.has_shape;
    made.dims = tensor.dims;
    if (!tensor.has_shape && tensor.dtype != DType::String) {
      made.has_shape = true;
      if (tensor.dtype != DType::Bool) guessed = guess_shape(program_.operators, function, function.inputs[n]);
      made.dims = guessed.dims;
      warn("input " + in_quotes(tensor.name) + ": the file gives no shape; " + std::to_string(made.dims.size()) +
           (made.dims.size() == 1 ? " dimension is" : " dimensions are") + " assumed");
    }
    Tensor shaped = tensor;
    shaped.dims = made.dims;
    is_fixed_[std::size_t(id)] = true;
    std::vector<std::string> names(made.dims.size());
    for (std::size_t i = 0; i < made.dims.size(); ++i) {
      if (made.dims[i] >= 0) continue;
      const FreeDimension free = free_dimension(shaped, i, n, i < guessed.names.size() ? guessed.names[i] : "");
      names[i] = free.name;
      // A size of 1 in the file stands for any.
      made.dims[i] = i < tensor.sizes.size() && tensor.sizes[i] > 1 ? tensor.sizes[i] : free.size;
      is_fixed_[std::size_t(id)] = false;
      if (i > 0) has_free_space_ = true;
    }
    if (!is_fixed_[std::size_t(id)]) made.dim_names = names;
    const bool is_image = wanted[n] && made.dims.size() >= 3;
    if (is_image) {
      const auto order = to_first(made.dims.size());
      made.dims = permute(made.dims, order);
      for (std::size_t i = 0; i < made.dim_names.size(); ++i) made.dim_names[i] = names[std::size_t(order[i])];
    }
    any_image = any_image || is_image;
    (is_image ? slot.first : slot.plain) = id;
    graph_.blocks[0].inputs.push_back(id);
  }
  if (any_image) warn("images are shown channels first, as PyTorch's convolutions take them");
  return ok();
}

bool Translator::skip_dead(Scope& scope, const Operation& operation) {
  if (operation.type == "Merge") return false;
  const bool dead = std::any_of(operation.inputs.begin(), operation.inputs.end(),
                                [&](TensorId id) { return id != kNoTensor && scope.slots[std::size_t(id)].is_dead; });
  if (!dead) return false;
  for (const TensorId id : operation.outputs) {
    if (id != kNoTensor) scope.slots[std::size_t(id)].is_dead = true;
  }
  return true;
}

Status Translator::translate(Scope& scope, const Operation& operation) {
  FORERUN_CHECK(budget_.add_node());  // calls may expand without end and make no node
  if (skip_dead(scope, operation)) return ok();
  static constexpr OperatorRow kUnknown{.name = {}, .build = nullptr};
  const OperatorRow* row = find_operator(program_.operators, operation.type);
  Call call(*this, scope, operation, row == nullptr ? kUnknown : *row);
  if (row == nullptr) {
    call.unknown();
  } else {
    row->build(call);
  }
  if (call.is_unknown()) keep_unknown(call);
  return status_;
}

Status Translator::translate(Scope& scope) {
  for (const Operation& operation : scope.function->operations) FORERUN_CHECK(translate(scope, operation));
  return ok();
}

void Translator::keep_unknown(Call& call) {
  const Operation& operation = call.operation();
  Node node;
  node.kind = OpKind::Unknown;
  node.op_type = operation.type;
  const std::string domain = program_.operators == OperatorSet::TensorFlowLite ? "tflite" : "tensorflow";
  node.domain = domain;
  node.name = call.scope().prefix + operation.name;
  for (std::size_t i = 0; i < call.inputs(); ++i) node.inputs.push_back(call.plain(i));
  const ValueId made = emit(call.scope(), std::move(node), operation.outputs.size());
  bool shaped = !operation.outputs.empty();
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const auto id = ValueId(made + std::int32_t(i));
    is_fixed_[std::size_t(id)] = false;
    call.result(i, id);
    shaped = shaped && is_declared_[std::size_t(id)];
  }
  // Without a shape the analysis says so.
  if (shaped) warn("operator " + domain + "::" + operation.type + " is unknown: its cost is not counted");
}

Status Translator::add_outputs(Scope& scope) {
  for (const TensorId id : scope.function->outputs) {
    if (id == kNoTensor) continue;
    Slot& slot = scope.slots[std::size_t(id)];
    if (program_.has_guessed_results && (slot.is_dead || slot.constant != nullptr || !slot.known())) continue;
    const std::string& name = scope.function->tensors[std::size_t(id)].name;
    const ValueId result = slot.first != kNoValue && slot.plain == kNoValue ? slot.first : plain(scope, slot, name);
    if (result == kNoValue) {
      warn("output " + in_quotes(name) + ": nothing in the file produces it");
      continue;
    }
    auto& outputs = graph_.blocks[0].outputs;
    if (std::find(outputs.begin(), outputs.end(), result) == outputs.end()) outputs.push_back(result);
  }
  return ok();
}

// Drops what depends on the sizes that free dimensions had here.
void Translator::finish() {
  std::vector<bool> is_operand(graph_.values.size(), false);
  for (const ValueId id : graph_.main().inputs) is_operand[std::size_t(id)] = true;
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    Value& one = graph_.values[i];
    if (one.name.empty()) one.name = "value_" + std::to_string(i);
    if (is_stored(one) || is_declared_[i]) continue;
    if (!one.dim_names.empty()) {
      for (std::size_t d = 0; d < one.dims.size(); ++d) {
        if (!one.dim_names[d].empty()) one.dims[d] = kUnknownDim;
      }
      continue;
    }
    if (is_operand[i]) continue;
    one.has_shape = false;
    one.dims.clear();
    one.literal.reset();
  }
  for (const Warning& warning : warnings_) {
    const std::string others = warning.others > 0 ? " (and " + std::to_string(warning.others) + " more)" : "";
    graph_.warnings.push_back(warning.start + others + warning.end);
  }
}

Status Translator::run() {
  graph_.blocks.emplace_back().name = program_.name;
  warn("the operators of a TensorFlow file are counted and timed as PyTorch would run them");
  for (const std::string& text : program_.warnings) warn(text);
  Scope scope;
  FORERUN_CHECK(open(scope, 0, nullptr, {}));
  open_calls_.push_back(0);
  FORERUN_CHECK(add_inputs(scope));
  FORERUN_CHECK(translate(scope));
  FORERUN_CHECK(add_outputs(scope));
  FORERUN_CHECK(status_);
  fuse_recurrent_loops(graph_);
  fuse_composites(graph_);
  is_declared_.resize(graph_.values.size(), false);
  finish();
  return verify(graph_);
}

}  // namespace forerun::tensorflow
