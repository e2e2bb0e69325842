// Calls are inlined; If and While become If and Loop with bodies; Switch and Merge are decided where they can be.
#include <algorithm>

#include "readers/printable.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {

void Call::fail(const Status& status) {
  if (!status && translator_.status_) translator_.status_ = status;
}

void build_call(Call& call) {
  std::int32_t function = call.function("f");
  if (function < 0) function = call.function("function");
  if (function < 0) return call.unknown();
  std::vector<Slot> operands;
  for (std::size_t i = 0; i < call.inputs(); ++i) operands.push_back(call.operand(i));
  std::vector<Slot> results;
  const Status status = call.translator().inline_function(function, call.scope(), call.scope().block,
                                                          call.operation().name, operands, results);
  if (!status) return call.fail(status);
  for (std::size_t i = 0; i < results.size(); ++i) call.set_slot(i, results[i]);
}

namespace {

// Translates a function as a new block that returns its results in TensorFlow's order.
std::int32_t add_body(Call& call, std::int32_t function, const std::string& name, const std::vector<Slot>& operands,
                      std::vector<Slot>& results) {
  Graph& graph = call.graph();
  const auto block = std::int32_t(graph.blocks.size());
  graph.blocks.emplace_back().name = printable(name);
  call.fail(call.translator().inline_function(function, call.scope(), block, name, operands, results));
  return block;
}

}  // namespace

void build_if(Call& call) {
  const std::int32_t yes = call.function("then_branch");
  const std::int32_t no = call.function("else_branch");
  if (yes < 0 || no < 0 || call.inputs() == 0) return call.unknown();
  std::vector<Slot> operands;
  for (std::size_t i = 1; i < call.inputs(); ++i) operands.push_back(call.operand(i));
  Node node;
  node.kind = OpKind::If;
  node.name = call.scope().prefix + call.operation().name;
  node.inputs = {call.plain(0)};
  for (const bool first : {true, false}) {
    std::vector<Slot> results;
    const std::string name = call.operation().name + (first ? "/then" : "/else");
    const std::int32_t block = add_body(call, first ? yes : no, name, operands, results);
    for (std::size_t i = 0; i < call.outputs(); ++i)
      call.graph().blocks[std::size_t(block)].outputs.push_back(i < results.size() ? call.plain_in(results[i], block)
                                                                                   : kNoValue);
    node.blocks.emplace_back(first ? "then_branch" : "else_branch", block);
  }
  const auto blocks = node.blocks;
  const ValueId made = call.add(std::move(node), call.outputs());
  for (std::size_t i = 0; i < call.outputs(); ++i) {
    for (const auto& [name, block] : blocks) {  // either branch's type and shape
      const ValueId from = call.graph().blocks[std::size_t(block)].outputs[i];
      if (from != kNoValue) call.copy_type(made + ValueId(i), from);
    }
    call.result(i, made + ValueId(i));
  }
}

namespace {

// The operation of `function` that makes `tensor`, through identities; nullptr when an operand is reached.
const Operation* maker_of(const Function& function, TensorId& tensor) {
  for (std::size_t i = function.operations.size(); i-- > 0;) {
    const Operation& one = function.operations[i];
    if (std::find(one.outputs.begin(), one.outputs.end(), tensor) == one.outputs.end()) continue;
    if (one.type == "Identity" && !one.inputs.empty() && one.inputs[0] != kNoTensor) {
      tensor = one.inputs[0];
      continue;
    }
    return &one;
  }
  return nullptr;
}

std::optional<std::size_t> parameter_of(const Function& function, TensorId tensor) {
  (void)maker_of(function, tensor);
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    if (function.inputs[i] == tensor) return i;
  }
  return std::nullopt;
}

std::optional<std::int64_t> constant_of(const Function& function, TensorId tensor) {
  (void)maker_of(function, tensor);
  if (tensor == kNoTensor) return std::nullopt;
  const auto& literal = function.tensors[std::size_t(tensor)].literal;
  return literal && literal->ints.size() == 1 ? std::optional(literal->ints[0]) : std::nullopt;
}

bool is_named(const Operation* operation, std::initializer_list<std::string_view> names) {
  return operation != nullptr && operation->inputs.size() >= 2 && operation->inputs[0] != kNoTensor &&
         operation->inputs[1] != kNoTensor && std::find(names.begin(), names.end(), operation->type) != names.end();
}

// How often a counted loop runs: the condition compares a counter that the body raises by one with a bound that does
// not change. Gives the bound as a value; kNoValue for any other loop.
class TripCount {
 public:
  TripCount(Call& call, const Function& condition, const Function& body, const std::vector<Slot>& operands)
      : call_(call), condition_(condition), body_(body), operands_(operands) {}

  ValueId find() { return condition_.outputs.empty() ? kNoValue : of(condition_.outputs.front(), 0); }

 private:
  ValueId of(TensorId tensor, int depth) {
    if (tensor == kNoTensor || depth > 8) return kNoValue;
    const Operation* maker = maker_of(condition_, tensor);
    if (is_named(maker, {"LogicalAnd", "LOGICAL_AND"})) {
      const ValueId left = of(maker->inputs[0], depth + 1);
      const ValueId right = of(maker->inputs[1], depth + 1);
      if (left == kNoValue || right == kNoValue) return left == kNoValue ? right : left;
      return left == right ? left : call_.node(OpKind::Min, {left, right});
    }
    if (!is_named(maker, {"Less", "LESS"})) return kNoValue;
    const auto counter = parameter_of(condition_, maker->inputs[0]);
    if (!counter || !counts_by_one(*counter)) return kNoValue;
    const Slot& start = operands_[*counter];
    if (start.constant == nullptr || !start.constant->literal || start.constant->literal->ints != Ints{0})
      return kNoValue;
    if (const auto bound = constant_of(condition_, maker->inputs[1])) return call_.integer_scalar(*bound);
    const auto bound = parameter_of(condition_, maker->inputs[1]);
    if (!bound || *bound >= operands_.size() || *bound >= body_.outputs.size() ||
        parameter_of(body_, body_.outputs[*bound]) != *bound)
      return kNoValue;
    Slot slot = operands_[*bound];
    return call_.plain_in(slot, call_.scope().block);
  }

  bool counts_by_one(std::size_t counter) const {
    if (counter >= body_.outputs.size() || counter >= operands_.size()) return false;
    TensorId tensor = body_.outputs[counter];
    if (tensor == kNoTensor) return false;
    const Operation* maker = maker_of(body_, tensor);
    if (!is_named(maker, {"Add", "AddV2", "ADD"})) return false;
    return (parameter_of(body_, maker->inputs[0]) == counter && constant_of(body_, maker->inputs[1]) == 1) ||
           (parameter_of(body_, maker->inputs[1]) == counter && constant_of(body_, maker->inputs[0]) == 1);
  }

  Call& call_;
  const Function& condition_;
  const Function& body_;
  const std::vector<Slot>& operands_;
};

}  // namespace

// While becomes Loop. Lists that the body fills are the Loop's stacked results; operands that the body returns
// unchanged are used from outside.
void build_while(Call& call) {
  const std::int32_t condition = call.function("cond");
  const std::int32_t body = call.function("body");
  if (condition < 0 || body < 0) return call.unknown();
  const Program& program = call.program();
  const Function& inner = program.functions[std::size_t(body)];
  if (inner.outputs.size() < call.inputs()) return call.unknown();
  std::vector<Slot> operands, inside, next;
  for (std::size_t i = 0; i < call.inputs(); ++i) operands.push_back(call.operand(i));
  Node node;
  node.kind = OpKind::Loop;
  node.name = call.scope().prefix + call.operation().name;
  const ValueId trips = TripCount(call, program.functions[std::size_t(condition)], inner, operands).find();
  std::vector<Slot> truth;
  call.fail(call.translator().inline_function(condition, call.scope(), call.scope().block,
                                              call.operation().name + "/cond", operands, truth));
  node.inputs = {trips, truth.empty() ? kNoValue : call.plain_in(truth[0], call.scope().block)};

  Graph& graph = call.graph();
  const auto block = std::int32_t(graph.blocks.size());
  graph.blocks.emplace_back().name = call.operation().name + "/body";
  std::vector<ValueId> parameters = {call.fresh(DType::Int64, Dims{}), call.fresh(DType::Bool, Dims{})};
  std::vector<std::int32_t> carried;  // operands that change from run to run
  inside = operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool unchanged = parameter_of(inner, inner.outputs[i]) == i;
    if (unchanged || operands[i].is_open_list || !operands[i].known()) continue;
    const ValueId initial = call.plain_in(operands[i], call.scope().block);
    // A stored state to start from is no weight.
    if (operands[i].constant != nullptr && initial != kNoValue) call.value(initial).role = ValueRole::Constant;
    node.inputs.push_back(initial);
    carried.push_back(std::int32_t(i));
    inside[i] = Slot{};
    inside[i].plain = call.fresh(DType::Undefined, std::nullopt);
    call.copy_type(inside[i].plain, initial);
    parameters.push_back(inside[i].plain);
  }
  call.fail(call.translator().inline_function(body, call.scope(), block, call.operation().name, inside, next));
  next.resize(std::max(next.size(), operands.size()));
  std::vector<Slot> again;
  call.fail(
      call.translator().inline_function(condition, call.scope(), block, call.operation().name + "/cond", next, again));
  std::vector<ValueId> results = {again.empty() ? kNoValue : call.plain_in(again[0], block)};
  for (const std::int32_t i : carried) results.push_back(call.plain_in(next[std::size_t(i)], block));
  std::vector<std::size_t> lists;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_open_list || next[i].item == kNoValue) continue;
    lists.push_back(i);
    results.push_back(next[i].item);
  }
  graph.blocks[std::size_t(block)].inputs = parameters;
  graph.blocks[std::size_t(block)].outputs = results;
  node.blocks.emplace_back("body", block);
  const ValueId made = call.add(std::move(node), carried.size() + lists.size());
  for (std::size_t i = 0; i < operands.size() && i < call.outputs(); ++i) call.set_slot(i, operands[i]);
  for (std::size_t n = 0; n < carried.size(); ++n) {
    if (results[n + 1] != kNoValue) call.copy_type(made + ValueId(n), results[n + 1]);
    call.result(std::size_t(carried[n]), made + ValueId(n));
  }
  for (std::size_t n = 0; n < lists.size(); ++n) {
    const ValueId list = made + ValueId(carried.size() + n);
    call.copy_stacked(list, results[carried.size() + 1 + n], trips);
    call.result(lists[n], list);
  }
}

// TensorFlow 1: data goes to one of two results. A predicate that the file leaves open is that of training: false.
void build_switch(Call& call) {
  if (call.inputs() < 2) return call.unknown();
  TensorId predicate = call.operation().inputs[1];
  const Operation* maker = predicate == kNoTensor ? nullptr : maker_of(*call.scope().function, predicate);
  const Slot switched = call.operand(1);
  const Literal* stated = call.contents(1);
  bool truth = switched.truth.value_or(false);
  if (stated != nullptr && stated->ints.size() == 1) {
    truth = stated->ints[0] != 0;
  } else if (maker != nullptr && maker->type == "LoopCond") {
    call.warn("the trip count of a TensorFlow 1 loop is known only at run time; counted once");
    call.alias(0, 0);
    return call.alias(1, 0);
  } else if (!switched.truth) {
    call.warn("what decides it is not in the file; read as false, as outside training");
  }
  call.alias(0, 0);
  call.alias(1, 0);
  call.kill(truth ? 0 : 1);
  // Switch on the predicate itself: within a branch its value is known.
  if (call.operation().inputs[0] == call.operation().inputs[1]) call.set_truth(truth ? 1 : 0, truth);
}

void build_merge(Call& call) {
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (call.operation().inputs[i] == kNoTensor || call.operand(i).is_dead || !call.operand(i).known()) continue;
    call.alias(0, i);
    call.result(1, call.integer_scalar(std::int64_t(i)));
    return;
  }
  for (std::size_t i = 0; i < call.outputs(); ++i) call.kill(i);
}

void build_list_reserve(Call& call) {
  Slot open;
  open.is_open_list = true;
  call.set_slot(0, open);
}

// A list that is read is the tensor it was made from: item i is row i.
void build_list_get(Call& call) {
  if (!call.has(0)) return call.unknown();
  call.result(0, call.node(OpKind::Gather, {call.plain(0), call.plain(1)}, {{"axis", std::int64_t{0}}}));
}

void build_list_set(Call& call) {
  if (call.inputs() < 3 || !call.operand(0).is_open_list) return call.unknown();
  Slot filled = call.operand(0);
  filled.item = call.plain(2);
  call.set_slot(0, filled);
}

// TensorFlow Lite's handles are filled by another subgraph: what is read is a weight, or a state where the network
// writes it, too.
void build_read_variable(Call& call) {
  if (call.has(0)) return call.alias(0, 0);
  const Tensor* read = call.output_tensor(0);
  if (read == nullptr || !read->has_shape || call.operation().type != "READ_VARIABLE" ||
      std::find(read->dims.begin(), read->dims.end(), kUnknownDim) != read->dims.end())
    return call.unknown();
  const auto& operations = call.scope().function->operations;
  const bool is_written = std::any_of(operations.begin(), operations.end(),
                                      [](const Operation& one) { return one.type == "ASSIGN_VARIABLE"; });
  Slot slot;
  slot.constant = call.translator().stored(*read, is_written);
  call.set_slot(0, slot);
}

}  // namespace forerun::tensorflow
