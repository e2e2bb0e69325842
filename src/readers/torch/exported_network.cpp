#include "readers/torch/exported_network.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "readers/printable.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

using Environment = std::unordered_map<std::string, Argument>;
using Role = ExportedInput::Role;

class Expansion {
 public:
  Expansion(const ExportedProgram& program, Bindings bound, Graph& graph, const CancelToken& cancel)
      : program_(program), bound_(std::move(bound)), graph_(graph), writer_(graph, cancel) {}

  Status run() {
    graph_.blocks.emplace_back();
    assume_largest();
    Environment names;
    for (const ExportedInput& input : program_.inputs) FORERUN_CHECK(add_input(input, names));
    FORERUN_CHECK(run_graph(program_.graphs.front(), names));
    for (const std::string& name : program_.outputs) {
      const auto found = names.find(name);
      const auto* tensor = found == names.end() ? nullptr : found->second.as<Tensor>();
      if (tensor != nullptr) graph_.main().outputs.push_back(tensor->id);
    }
    graph_.origin.has_call_paths = std::any_of(graph_.modules.begin(), graph_.modules.end(),
                                               [](const std::string& path) { return path.find('/') != path.npos; });
    return ok();
  }

 private:
  // Sizes that data decides (the number of elements that are not zero): the largest the program allows.
  void assume_largest() {
    for (const Expression& expression : program_.expressions) {
      for (const std::string& symbol : expression.symbols()) {
        const auto largest = program_.largest.find(symbol);
        if (bound_.contains(symbol) || largest == program_.largest.end()) continue;
        bound_[symbol] = largest->second;
        graph_.warnings.push_back("size " + symbol + " is known only at run time: its largest value " +
                                  std::to_string(largest->second) + " is assumed");
      }
    }
  }

  [[nodiscard]] std::optional<std::int64_t> number(const Size& size) const {
    return size.expression < 0 ? std::optional(size.number)
                               : program_.expressions[std::size_t(size.expression)].evaluate(bound_);
  }

  // nullopt when a size is known only at run time.
  [[nodiscard]] std::optional<Dims> dims_of(const TensorMeta& meta) const {
    Dims dims;
    for (const Size& size : meta.sizes) {
      const auto value = number(size);
      if (!value || *value < 0) return std::nullopt;
      dims.push_back(*value);
    }
    return dims;
  }

  Status add_input(const ExportedInput& input, Environment& names) {
    if (input.name.empty()) return ok();
    const ExportedGraph& graph = program_.graphs.front();
    if (const auto scalar = graph.numbers.find(input.name); scalar != graph.numbers.end()) {
      const auto value = number(scalar->second);
      names[input.name] = value ? Argument{*value} : Argument{AtRunTime{}};
      return ok();
    }
    const auto meta = graph.tensors.find(input.name);
    if (meta == graph.tensors.end()) {
      if (input.role == Role::User) return ok();
      return bad_input("input " + in_quotes(input.name) + " has no type");
    }
    if (const auto stored = stored_.find(input.target); !input.target.empty() && stored != stored_.end()) {
      names[input.name] = {Tensor{stored->second}};
      return ok();
    }
    const DType type = meta->second.type;
    const std::size_t rank = meta->second.sizes.size();
    const bool is_cache = input.role == Role::Buffer && input.is_mutated && rank >= 3;
    const bool is_weight = (input.role == Role::Parameter && (is_floating(type) || is_quantized(type))) ||
                           (input.role == Role::Buffer && is_quantized(type) && rank >= 2);
    const ValueRole role = input.role == Role::User ? ValueRole::Input
                           : is_cache               ? ValueRole::Cache
                           : is_weight              ? ValueRole::Weight
                                                    : ValueRole::Constant;
    const ValueId id =
        writer_.add_value(input.target.empty() ? input.name : input.target, type, dims_of(meta->second), role);
    if (role == ValueRole::Input || role == ValueRole::Cache) graph_.main().inputs.push_back(id);
    if (!input.target.empty()) stored_.emplace(input.target, id);
    names[input.name] = {Tensor{id}};
    return ok();
  }

  Status run_graph(const ExportedGraph& graph, Environment& names) {
    for (const ExportedNode& node : graph.nodes) {
      FORERUN_CHECK(writer_.check());
      if (writer_.is_full()) return Error{ErrorKind::TooLarge, "the network has too many nodes"};
      FORERUN_CHECK(run_node(graph, node, names));
    }
    return ok();
  }

  Status run_node(const ExportedGraph& graph, const ExportedNode& node, Environment& names) {
    using Form = ExportedOutput::Form;
    if (!node.outputs.empty() && std::all_of(node.outputs.begin(), node.outputs.end(),
                                             [](const auto& output) { return output.form == Form::Number; })) {
      for (const ExportedOutput& output : node.outputs) set_number(graph, output.names.front(), names);
      return ok();
    }
    Operation operation = node.operation;
    for (auto& [name, argument] : operation.arguments) {
      FORERUN_TRY(argument, resolve(argument, graph, names));
    }
    writer_.set_place(node.name, node.module);
    if (operation.space == "higher_order") return run_control(graph, node, operation, names);
    return set_results(graph, node, translate(operation, writer_), names);
  }

  void set_number(const ExportedGraph& graph, const std::string& name, Environment& names) {
    const auto found = graph.numbers.find(name);
    const auto value = found == graph.numbers.end() ? std::nullopt : number(found->second);
    names[name] = value ? Argument{*value} : Argument{AtRunTime{}};
  }

  Result<Argument> resolve(const Argument& argument, const ExportedGraph& graph, const Environment& names) {
    if (const auto* named = argument.as<Named>()) {
      if (const auto found = names.find(named->name); found != names.end()) return found->second;
      if (const auto scalar = graph.numbers.find(named->name); scalar != graph.numbers.end()) {
        const auto value = number(scalar->second);
        return value ? Argument{*value} : Argument{AtRunTime{}};
      }
      return bad_input("an operator uses " + in_quotes(named->name) + ", which no operator makes");
    }
    const List* list = argument.as<List>();
    if (list == nullptr) return argument;
    std::vector<Argument> items;
    items.reserve((*list)->size());
    for (const Argument& item : **list) {
      FORERUN_TRY(items.emplace_back(), resolve(item, graph, names));
    }
    return make_list(std::move(items));
  }

  Status set_results(const ExportedGraph& graph, const ExportedNode& node, const std::vector<Argument>& results,
                     Environment& names) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ExportedOutput& output = node.outputs[i];
      const Argument result = i < results.size() ? results[i] : Argument{};
      const List* list = result.as<List>();
      for (std::size_t n = 0; n < output.names.size(); ++n) {
        const std::string& name = output.names[n];
        if (name.empty()) continue;
        const bool in_list = list != nullptr && n < (*list)->size();
        const Argument& one = in_list ? (**list)[n] : result;
        if (output.form == ExportedOutput::Form::Number)
          set_number(graph, name, names);
        else
          names[name] = {Tensor{declare(graph, name, one)}};
      }
    }
    return ok();
  }

  // A result with the type and shape that the file states for it.
  ValueId declare(const ExportedGraph& graph, const std::string& name, const Argument& result) {
    const auto meta = graph.tensors.find(name);
    const auto dims = meta == graph.tensors.end() ? std::nullopt : dims_of(meta->second);
    const DType type = meta == graph.tensors.end() ? DType::Undefined : meta->second.type;
    const auto* tensor = result.as<Tensor>();
    if (tensor == nullptr) return writer_.add_value(name, type, dims, ValueRole::Constant);
    Value& value = writer_.value(tensor->id);
    if (value.dtype == DType::Undefined) value.dtype = type;
    if (!value.has_shape && dims) {
      value.has_shape = true;
      value.dims = *dims;
    }
    return tensor->id;
  }

  // Bodies that always run are written in place; of a condition, both become bodies of an If.
  Status run_control(const ExportedGraph& graph, const ExportedNode& node, const Operation& operation,
                     Environment& names) {
    std::vector<std::int32_t> bodies;
    std::vector<Argument> operands;
    std::optional<Argument> condition;
    for (const auto& [name, argument] : operation.arguments) {
      if (const auto* body = argument.as<SubGraph>()) {
        bodies.push_back(body->index);
      } else if (bodies.empty()) {
        condition = argument;
      } else if (const List* list = argument.as<List>()) {
        operands.insert(operands.end(), (*list)->begin(), (*list)->end());
      } else if (argument.as<std::string>() == nullptr) {
        operands.push_back(argument);
      }
    }
    if (operation.name == "cond" && bodies.size() == 2 && condition)
      return run_condition(graph, node, bodies, *condition, operands, names);
    const bool repeats = operation.name == "while_loop" && bodies.size() == 2;
    if (!repeats && bodies.size() != 1) return set_results(graph, node, unknown(operation, node), names);
    if (repeats) graph_.warnings.push_back("a while_loop's body is counted once: its steps are known only at run time");
    FORERUN_TRY(const std::vector<Argument> results, run_body(bodies.back(), operands));
    return set_results(graph, node, results, names);
  }

  std::vector<Argument> unknown(const Operation& operation, const ExportedNode& node) {
    std::vector<Argument> results;
    for (const ValueId id :
         writer_.add_unknown(operation.space, operation.name, {}, std::max<std::size_t>(1, node.outputs.size())))
      results.push_back({Tensor{id}});
    return results;
  }

  Result<std::vector<Argument>> run_body(std::int32_t index, const std::vector<Argument>& operands) {
    if (std::size_t(index) >= program_.graphs.size()) return internal_error("a body is missing");
    const ExportedGraph& body = program_.graphs[std::size_t(index)];
    if (operands.size() < body.inputs.size()) return bad_input("a body has more inputs than its operator passes to it");
    Environment inside;
    // What comes before its inputs (names, settings) is not for the body.
    const std::size_t first = operands.size() - body.inputs.size();
    for (std::size_t i = 0; i < body.inputs.size(); ++i) inside[body.inputs[i]] = operands[first + i];
    FORERUN_CHECK(run_graph(body, inside));
    std::vector<Argument> results;
    for (const Argument& output : body.outputs) {
      FORERUN_TRY(results.emplace_back(), resolve(output, body, inside));
    }
    return results;
  }

  Status run_condition(const ExportedGraph& graph, const ExportedNode& node, const std::vector<std::int32_t>& bodies,
                       const Argument& condition, const std::vector<Argument>& operands, Environment& names) {
    const auto* tensor = condition.as<Tensor>();
    if (tensor == nullptr) {
      const bool taken = integer_of(condition).value_or(1) != 0;
      FORERUN_TRY(const std::vector<Argument> results, run_body(bodies[taken ? 0 : 1], operands));
      return set_results(graph, node, results, names);
    }
    const std::int32_t outer = writer_.block();
    std::vector<std::pair<std::string, std::int32_t>> blocks;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto place = std::int32_t(graph_.blocks.size());
      graph_.blocks.emplace_back();
      writer_.set_block(place);
      auto results = run_body(bodies[i], operands);
      writer_.set_block(outer);
      if (!results) return results.error();
      for (const Argument& result : *results) {
        if (const auto* one = result.as<Tensor>()) graph_.blocks[std::size_t(place)].outputs.push_back(one->id);
      }
      blocks.emplace_back(i == 0 ? "then_branch" : "else_branch", place);
    }
    writer_.set_place(node.name, node.module);
    std::vector<Argument> results;
    for (const ValueId id : writer_.add_node(OpKind::If, "", {tensor->id}, {}, node.outputs.size()))
      results.push_back({Tensor{id}});
    graph_.blocks[std::size_t(outer)].nodes.back().blocks = std::move(blocks);
    return set_results(graph, node, results, names);
  }

  const ExportedProgram& program_;
  Bindings bound_;
  Graph& graph_;
  GraphWriter writer_;
  std::unordered_map<std::string, ValueId> stored_;  // by their name in the module: tied weights are one
};

class ExportedNetwork final : public Network {
 public:
  ExportedNetwork(ExportedProgram program, std::string name, std::string what)
      : program_(std::move(program)), name_(std::move(name)), what_(std::move(what)) {
    add_open_inputs();
  }

  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken& cancel) const override {
    FORERUN_TRY(Bindings bound, bind(binding));
    Graph graph;
    graph.name = name_;
    graph.format = "torch.export";
    graph.origin.framework = Framework::PyTorch;
    graph.origin.exporter = program_.exporter;
    Status status = Expansion(program_, std::move(bound), graph, cancel).run();
    if (status) status = verify(graph);
    if (!status) return Error{status.error().kind, what_ + ": " + status.error().message};
    return graph;
  }

  [[nodiscard]] const Graph* open_inputs() const override { return program_.has_symbols ? &inputs_ : nullptr; }

 private:
  // The inputs with their free dimensions by name, for whoever binds them.
  void add_open_inputs() {
    inputs_.blocks.emplace_back();
    inputs_.name = name_;
    const ExportedGraph& graph = program_.graphs.front();
    for (const ExportedInput& input : program_.inputs) {
      const auto meta = graph.tensors.find(input.name);
      if (input.role != Role::User || meta == graph.tensors.end()) continue;
      Value value;
      value.name = input.name;
      value.dtype = meta->second.type;
      value.role = ValueRole::Input;
      value.has_shape = true;
      for (const Size& size : meta->second.sizes) {
        value.dims.push_back(size.expression < 0 ? size.number : kUnknownDim);
        value.dim_names.push_back(size.expression < 0 ? "" : text_of(size));
      }
      inputs_.main().inputs.push_back(ValueId(inputs_.values.size()));
      inputs_.values.push_back(std::move(value));
    }
  }

  [[nodiscard]] std::string text_of(const Size& size) const {
    return program_.expressions[std::size_t(size.expression)].text();
  }

  // Symbols from the numbers of the dimensions they stand in.
  [[nodiscard]] Result<Bindings> bind(const Binding& binding) const {
    Bindings bound;
    for (const auto& [name, number] : binding.dims) bound[name] = number;
    const ExportedGraph& graph = program_.graphs.front();
    for (const ExportedInput& input : program_.inputs) {
      const auto meta = graph.tensors.find(input.name);
      if (input.role != Role::User || meta == graph.tensors.end()) continue;
      for (const Size& size : meta->second.sizes) {
        if (size.expression < 0) continue;
        const Expression& expression = program_.expressions[std::size_t(size.expression)];
        const auto wanted = binding.dims.find(expression.text());
        const std::string symbol = expression.only_symbol();
        if (wanted == binding.dims.end() || symbol.empty() || bound.contains(symbol)) continue;
        const auto solved = expression.solve(wanted->second);
        if (!solved) {
          return bad_input(what_ + ": input " + in_quotes(input.name) + " cannot have a dimension of " +
                           std::to_string(wanted->second) + ": it is " + expression.text() + "; give --dim " + symbol +
                           "=N");
        }
        bound[symbol] = *solved;
      }
    }
    return bound;
  }

  ExportedProgram program_;
  std::string name_;
  std::string what_;
  Graph inputs_;
};

}  // namespace

Result<std::unique_ptr<Network>> make_exported_network(ExportedProgram program, std::string name, std::string what) {
  std::unique_ptr<Network> network =
      std::make_unique<ExportedNetwork>(std::move(program), std::move(name), std::move(what));
  if (network->open_inputs() != nullptr) return network;
  // Without free dimensions the graph is always the same.
  FORERUN_TRY(Graph graph, network->expand({}));
  return make_fixed_network(std::move(graph));
}

}  // namespace forerun::pytorch
