// GraphDef to Program: names become indices, what the results do not need is left out, calls refer to functions.
#include "readers/tensorflow/graph_def.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "readers/tensorflow/node_facts.hpp"

namespace forerun::tensorflow {
namespace {

constexpr std::size_t kMaxOutputs = 65536;  // of one node

class FunctionBuilder {
 public:
  FunctionBuilder(std::vector<NodeDef>& nodes, const std::vector<ArgumentDef>& arguments,
                  const std::unordered_map<std::string, std::int32_t>& functions, Budget& budget)
      : nodes_(nodes), arguments_(arguments), functions_(functions), budget_(budget) {}

  // `is_main`: placeholders are operands, and without results given those that nothing reads are taken.
  Result<Function> build(const std::vector<std::pair<std::string, std::string>>& results, bool is_main) {
    FORERUN_CHECK(index(is_main));
    std::vector<std::pair<std::string, std::string>> wanted = results;
    if (is_main && wanted.empty()) wanted = unread();
    if (is_main && wanted.empty()) return bad_input("the graph has no result: every node is read by another one");
    FORERUN_CHECK(choose(wanted));
    if (!is_main) {
      for (const ArgumentDef& argument : arguments_) function_.inputs.push_back(argument_tensor(argument));
    }
    for (const auto& [name, text] : wanted) {
      if (const auto reference = read_reference(text)) {
        FORERUN_TRY(const TensorId id, tensor_of(*reference));
        (void)id;
      }
    }
    FORERUN_TRY(const std::vector<std::size_t> order, sorted());
    for (const std::size_t i : order) FORERUN_CHECK(add(i, is_main));
    for (const auto& [name, text] : wanted) {
      const auto reference = read_reference(text);
      TensorId id = kNoTensor;
      if (reference) {
        FORERUN_TRY(id, tensor_of(*reference));
      }
      function_.outputs.push_back(id);
    }
    return std::move(function_);
  }

  [[nodiscard]] const std::vector<std::string>& called() const { return called_; }

 private:
  // A signature may feed any tensor: what made it is left out then.
  void mark_fed() {
    fed_.assign(nodes_.size(), nullptr);
    for (const ArgumentDef& argument : arguments_) {
      const auto reference = read_reference(argument.name);
      const auto found = reference ? places_.find(reference->node) : places_.end();
      if (found != places_.end() && reference->index == 0) fed_[found->second] = &argument;
    }
  }

  [[nodiscard]] bool is_operand(std::size_t place) const {
    return is_placeholder(nodes_[place]) || (!fed_.empty() && fed_[place] != nullptr);
  }

  Status index(bool is_main) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].name.empty() || nodes_[i].op.empty()) return bad_input("a node has no name or no operator");
      if (!places_.emplace(nodes_[i].name, i).second) {
        return bad_input("two nodes are called " + in_quotes(nodes_[i].name));
      }
    }
    for (std::size_t i = 0; i < arguments_.size(); ++i) argument_places_.emplace(arguments_[i].name, i);
    if (is_main) mark_fed();
    outputs_.resize(nodes_.size());
    return ok();
  }

  std::vector<std::pair<std::string, std::string>> unread() const {
    std::vector<bool> is_read(nodes_.size(), false);
    for (const NodeDef& node : nodes_) {
      for (const std::string& input : node.inputs) {
        const auto reference = read_reference(input);
        const auto found = reference ? places_.find(reference->node) : places_.end();
        if (found != places_.end()) is_read[found->second] = true;
      }
    }
    std::vector<std::pair<std::string, std::string>> result;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!is_read[i] && !is_no_result(nodes_[i])) result.emplace_back(nodes_[i].name, nodes_[i].name);
    }
    return result;
  }

  // Marks what the results need.
  Status choose(const std::vector<std::pair<std::string, std::string>>& wanted) {
    needed_.assign(nodes_.size(), false);
    std::vector<std::size_t> pending;
    const auto need = [&](std::string_view text) {
      const auto reference = read_reference(text);
      const auto found = reference ? places_.find(reference->node) : places_.end();
      if (found == places_.end() || needed_[found->second]) return;
      needed_[found->second] = true;
      pending.push_back(found->second);
    };
    for (const auto& [name, text] : wanted) need(text);
    while (!pending.empty()) {
      const std::size_t i = pending.back();
      pending.pop_back();
      if (is_operand(i)) continue;
      for (const std::string& input : nodes_[i].inputs) need(input);
    }
    return ok();
  }

  // Needed nodes in execution order: as in the file where that is one.
  Result<std::vector<std::size_t>> sorted() {
    std::vector<std::int32_t> missing(nodes_.size(), 0);
    std::vector<std::vector<std::size_t>> readers(nodes_.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!needed_[i]) continue;
      ++count;
      if (is_operand(i)) continue;
      for (const std::string& input : nodes_[i].inputs) {
        const auto reference = read_reference(input);
        const auto found = reference ? places_.find(reference->node) : places_.end();
        if (found == places_.end()) continue;
        if (nodes_[found->second].op == "NextIteration") continue;  // back to the start of a TensorFlow 1 loop
        readers[found->second].push_back(i);
        ++missing[i];
      }
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (needed_[i] && missing[i] == 0) ready.push(i);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t i = ready.top();
      ready.pop();
      order.push_back(i);
      for (const std::size_t reader : readers[i]) {
        if (--missing[reader] == 0) ready.push(reader);
      }
    }
    if (order.size() == count) return order;
    const auto stuck = std::find_if(missing.begin(), missing.end(), [](std::int32_t n) { return n > 0; });
    return bad_input("the graph has a cycle through node " +
                     in_quotes(nodes_[std::size_t(stuck - missing.begin())].name));
  }

  TensorId new_tensor(const std::string& name) {
    function_.tensors.emplace_back().name = name;
    return TensorId(function_.tensors.size() - 1);
  }

  TensorId argument_tensor(const ArgumentDef& argument) {
    const auto [known, is_new] = argument_tensors_.try_emplace(argument.name, kNoTensor);
    if (is_new) {
      known->second = new_tensor(argument.name);
      function_.tensors.back().dtype = argument.type;
    }
    return known->second;
  }

  Result<TensorId> tensor_of(const Reference& reference) {
    const auto found = places_.find(reference.node);
    if (found == places_.end()) {
      const auto argument = argument_places_.find(reference.node);
      if (argument == argument_places_.end())
        return bad_input("no node is called " + in_quotes(reference.node) + ", which another one reads");
      return argument_tensor(arguments_[argument->second]);
    }
    const NodeDef& node = nodes_[found->second];
    const std::size_t index = output_index(node, reference);
    if (index >= kMaxOutputs)
      return bad_input("node " + in_quotes(node.name) + " has no result " + std::to_string(index));
    std::vector<TensorId>& outputs = outputs_[found->second];
    if (outputs.size() <= index) {
      FORERUN_CHECK(budget_.charge(std::int64_t((index + 1 - outputs.size()) * 4)));
      outputs.resize(index + 1, kNoTensor);
    }
    if (outputs[index] == kNoTensor) {
      FORERUN_CHECK(budget_.charge(sizeof(Tensor)));
      outputs[index] = new_tensor(index == 0 ? node.name : node.name + ":" + std::to_string(index));
      Tensor& tensor = function_.tensors.back();
      if (index == 0) tensor.dtype = result_type(node);
      set_declared_shape(node, index, tensor);
    }
    return outputs[index];
  }

  static void set_declared_shape(const NodeDef& node, std::size_t index, Tensor& tensor) {
    const AttributeDef* shapes = find_attribute(node, "_output_shapes");
    if (shapes == nullptr || index >= shapes->shapes.size() || !shapes->shapes[index].is_known) return;
    tensor.has_shape = true;
    tensor.dims = shapes->shapes[index].dims;
  }

  Status set_stored(const NodeDef& node, Tensor& tensor) {
    if (node.op == "Const") {
      const AttributeDef* value = find_attribute(node, "value");
      if (value == nullptr || !value->tensor)
        return bad_input("the constant " + in_quotes(node.name) + " has no value");
      std::string name = tensor.name;
      tensor = *value->tensor;
      tensor.name = std::move(name);
      return ok();
    }
    const AttributeDef* shape = find_attribute(node, "shape");
    const bool known = shape != nullptr && !shape->shapes.empty() && shape->shapes.front().is_known;
    tensor.is_variable = true;
    tensor.is_constant = tensor.has_shape =
        known && std::find(shape->shapes.front().dims.begin(), shape->shapes.front().dims.end(), kUnknownDim) ==
                     shape->shapes.front().dims.end();
    if (known) tensor.dims = shape->shapes.front().dims;
    return ok();
  }

  // What the signature says of it comes first. A placeholder's shape without dimensions is one of any rank.
  Status add_operand(std::size_t place, TensorId id, bool is_main) {
    Tensor& tensor = function_.tensors[std::size_t(id)];
    const ArgumentDef* stated = fed_.empty() ? nullptr : fed_[place];
    const AttributeDef* shape = find_attribute(nodes_[place], "shape");
    if (stated != nullptr && stated->shape.is_known) {
      tensor.has_shape = true;
      tensor.dims = stated->shape.dims;
    } else if (is_placeholder(nodes_[place]) && shape != nullptr && !shape->shapes.empty() &&
               shape->shapes.front().is_known && !shape->shapes.front().dims.empty()) {
      tensor.has_shape = true;
      tensor.dims = shape->shapes.front().dims;
    }
    if (stated != nullptr && tensor.dtype == DType::Undefined) tensor.dtype = stated->type;
    if (is_main) function_.inputs.push_back(id);
    return check_dims(tensor.dims, tensor.dtype, tensor.name);
  }

  Status add(std::size_t place, bool is_main) {
    NodeDef& node = nodes_[place];
    const Reference own{.node = node.name, .output = {}, .index = 0};
    FORERUN_TRY(const TensorId first, tensor_of(own));
    if (is_operand(place)) return add_operand(place, first, is_main);
    if (node.op == "Const" || is_variable(node)) {
      Tensor& tensor = function_.tensors[std::size_t(first)];
      FORERUN_CHECK(set_stored(node, tensor));
      return check_dims(tensor.dims, tensor.dtype, tensor.name);
    }
    Operation operation;
    operation.name = node.name;
    operation.type = node.op;
    for (const std::string& input : node.inputs) {
      const auto reference = read_reference(input);
      if (!reference) continue;
      FORERUN_TRY(const TensorId id, tensor_of(*reference));
      operation.inputs.push_back(id);
    }
    // A call by the function's own name.
    if (const auto callee = functions_.find(node.op); callee != functions_.end()) {
      operation.type = "PartitionedCall";
      operation.functions.emplace_back("f", callee->second);
      called_.push_back(node.op);
    }
    for (AttributeDef& attribute : node.attributes) {
      for (const std::string& name : attribute.functions) {
        const auto callee = functions_.find(name);
        if (callee == functions_.end()) continue;
        operation.functions.emplace_back(attribute.name, callee->second);
        called_.push_back(name);
      }
      if (attribute.value) operation.attributes.push_back({attribute.name, *std::move(attribute.value)});
    }
    function_.operations.push_back(std::move(operation));
    return finish_outputs(place, function_.operations.size() - 1);
  }

  // Results may be named by nodes that come later: all references are read before the outputs are fixed.
  Status finish_outputs(std::size_t place, std::size_t operation) {
    if (!references_read_) {
      references_read_ = true;
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!needed_[i] || is_operand(i)) continue;
        for (const std::string& input : nodes_[i].inputs) {
          if (const auto reference = read_reference(input)) {
            FORERUN_TRY(const TensorId id, tensor_of(*reference));
            (void)id;
          }
        }
      }
    }
    std::size_t count = outputs_[place].size();
    // Lists whose length an attribute states.
    for (const std::string_view name : {"num_split", "num"}) {
      const AttributeDef* stated = find_attribute(nodes_[place], name);
      const bool lists = nodes_[place].op == "Split" || nodes_[place].op == "SplitV" || nodes_[place].op == "Unpack";
      if (stated == nullptr || !lists) continue;
      for (const Attribute& one : function_.operations[operation].attributes) {
        const auto* number = std::get_if<std::int64_t>(&one.value);
        if (one.name == name && number != nullptr && *number > 0 && *number < std::int64_t(kMaxOutputs))
          count = std::max(count, std::size_t(*number));
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      FORERUN_TRY(const TensorId id, tensor_of(Reference{.node = nodes_[place].name, .output = {}, .index = i}));
      function_.operations[operation].outputs.push_back(id);
    }
    return ok();
  }

  std::vector<NodeDef>& nodes_;
  const std::vector<ArgumentDef>& arguments_;
  const std::unordered_map<std::string, std::int32_t>& functions_;
  Budget& budget_;
  Function function_;
  std::unordered_map<std::string_view, std::size_t> places_;
  std::unordered_map<std::string_view, std::size_t> argument_places_;
  std::map<std::string, TensorId, std::less<>> argument_tensors_;
  std::vector<std::vector<TensorId>> outputs_;  // by node
  std::vector<bool> needed_;
  std::vector<const ArgumentDef*> fed_;  // by node of the main graph: the signature's operand
  std::vector<std::string> called_;
  bool references_read_ = false;
};

}  // namespace

Result<Program> build_program(GraphDef graph, const Endpoints& endpoints, Budget& budget) {
  Program program;
  program.has_guessed_results = endpoints.outputs.empty();
  std::unordered_map<std::string, std::int32_t> places;
  for (std::size_t i = 0; i < graph.functions.size(); ++i) {
    if (!places.emplace(graph.functions[i].name, std::int32_t(i + 1)).second) {
      return bad_input("two functions are called " + in_quotes(graph.functions[i].name));
    }
  }
  program.functions.resize(graph.functions.size() + 1);
  std::vector<std::string> pending;
  {
    FunctionBuilder builder(graph.nodes, endpoints.inputs, places, budget);
    FORERUN_TRY(program.functions.front(), builder.build(endpoints.outputs, true));
    pending = builder.called();
  }
  std::vector<bool> built(program.functions.size(), false);
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    const auto place = std::size_t(places.at(name));
    if (built[place]) continue;
    built[place] = true;
    FunctionDef& definition = graph.functions[place - 1];
    if (!definition.message.empty()) {
      FORERUN_TRY(definition, split_function(definition.message, budget));
    }
    FunctionBuilder builder(definition.nodes, definition.arguments, places, budget);
    Result<Function> function = builder.build(definition.results, false);
    if (!function) {
      return Error{function.error().kind, "function " + in_quotes(name) + ": " + function.error().message};
    }
    program.functions[place] = *std::move(function);
    program.functions[place].name = name;
    pending.insert(pending.end(), builder.called().begin(), builder.called().end());
  }
  return program;
}

}  // namespace forerun::tensorflow
