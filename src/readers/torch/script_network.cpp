#include "readers/torch/script_network.hpp"

#include <algorithm>
#include <unordered_map>

#include "readers/printable.hpp"
#include "readers/torch/script_archive.hpp"
#include "readers/torch/script_run.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

// A run changes its modules' attributes: each has its own.
Argument copy_of(const Argument& value, std::unordered_map<const void*, Argument>& copies) {
  if (const List* list = value.as<List>()) {
    if (const auto found = copies.find(list->get()); found != copies.end()) return found->second;
    std::vector<Argument> items;
    for (const Argument& item : **list) items.push_back(copy_of(item, copies));
    return copies[list->get()] = make_list(std::move(items));
  }
  if (const Object* object = value.as<Object>()) {
    if (const auto found = copies.find(object->get()); found != copies.end()) return found->second;
    auto copy = std::make_shared<ScriptObject>();
    copy->form = (*object)->form;
    copy->name = (*object)->name;
    copy->path = (*object)->path;
    for (const auto& [name, item] : (*object)->attributes) copy->attributes[name] = copy_of(item, copies);
    for (const auto& [key, item] : (*object)->entries)
      copy->entries.emplace_back(copy_of(key, copies), copy_of(item, copies));
    return copies[object->get()] = Argument{std::move(copy)};
  }
  return value;
}

void add_outputs(const Argument& value, Graph& graph, int depth) {
  if (depth > 64) return;
  if (const auto* tensor = value.as<Tensor>()) {
    graph.main().outputs.push_back(tensor->id);
  } else if (const List* list = value.as<List>()) {
    for (const Argument& item : **list) add_outputs(item, graph, depth + 1);
  } else if (const Object* object = value.as<Object>()) {
    for (const auto& [key, item] : (*object)->entries) add_outputs(item, graph, depth + 1);
    for (const auto& [name, item] : (*object)->attributes) add_outputs(item, graph, depth + 1);
  }
}

class ScriptNetwork final : public Network {
 public:
  ScriptNetwork(ScriptProgram program, const ScriptFunction& forward, std::string name, std::string what)
      : program_(std::move(program)), forward_(forward), name_(std::move(name)), what_(std::move(what)) {
    inputs_.blocks.emplace_back();
    inputs_.name = name_;
    for (std::size_t i = 1; i < forward_.parameters.size(); ++i) {
      if (!is_tensor(i)) continue;
      Value value;
      value.name = forward_.parameters[i];
      value.dtype = DType::Float32;
      value.role = ValueRole::Input;
      inputs_.main().inputs.push_back(ValueId(inputs_.values.size()));
      inputs_.values.push_back(std::move(value));
    }
  }

  [[nodiscard]] const Graph* open_inputs() const override { return &inputs_; }

  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken& cancel) const override {
    FORERUN_CHECK(check_inputs(binding));
    Graph graph;
    graph.name = name_;
    graph.format = "torchscript";
    graph.origin.framework = Framework::PyTorch;
    graph.origin.exporter = "TorchScript";
    graph.blocks.emplace_back();
    GraphWriter writer(graph, cancel);
    std::vector<Argument> arguments;
    for (std::size_t i = 1; i < forward_.parameters.size(); ++i) {
      const std::string& input = forward_.parameters[i];
      const auto shape = binding.inputs.find(input);
      if (shape == binding.inputs.end()) {
        arguments.push_back(argument_left_out(i));
        continue;
      }
      const ValueId id = writer.add_value(input, DType::Float32, Dims(shape->second), ValueRole::Input);
      graph.main().inputs.push_back(id);
      arguments.push_back({Tensor{id}});
    }
    std::unordered_map<const void*, Argument> copies;
    ScriptRun run(program_, writer);
    const auto result = run.call_method(copy_of(program_.root, copies), "forward", std::move(arguments));
    if (!result) return Error{result.error().kind, what_ + ": " + shortened(result.error().message)};
    add_outputs(*result, graph, 0);
    for (const std::string& warning : run.warnings()) {
      if (std::find(graph.warnings.begin(), graph.warnings.end(), warning) == graph.warnings.end())
        graph.warnings.push_back(warning);
    }
    graph.origin.has_call_paths = std::any_of(graph.modules.begin(), graph.modules.end(),
                                              [](const std::string& path) { return path.find('/') != path.npos; });
    if (const Status status = verify(graph); !status)
      return Error{status.error().kind, what_ + ": " + status.error().message};
    return graph;
  }

 private:
  [[nodiscard]] bool is_tensor(std::size_t i) const {
    const std::string& type = forward_.types[i];
    return type == "Tensor" || type.empty() || type == "Optional[Tensor]";
  }
  [[nodiscard]] bool is_required(std::size_t i) const {
    const Expr& fallback = forward_.defaults[i];
    const bool has_default = fallback.kind != Expr::Kind::Name || !fallback.text.empty();
    return is_tensor(i) && forward_.types[i] != "Optional[Tensor]" && !has_default;
  }
  // Errors of the run name the file already.
  [[nodiscard]] std::string shortened(const std::string& message) const {
    return message.starts_with(what_ + ": ") ? message.substr(what_.size() + 2) : message;
  }

  [[nodiscard]] Argument argument_left_out(std::size_t i) const {
    const Expr& fallback = forward_.defaults[i];
    if (forward_.types[i].starts_with("Optional")) return {};
    switch (fallback.kind) {
      case Expr::Kind::Bool: return {fallback.integer != 0};
      case Expr::Kind::Integer: return {fallback.integer};
      case Expr::Kind::Real: return {fallback.real};
      case Expr::Kind::Text: return {fallback.text};
      case Expr::Kind::None: return {};
      default: return {AtRunTime{}};
    }
  }

  Status check_inputs(const Binding& binding) const {
    std::string missing, example;
    for (std::size_t i = 1; i < forward_.parameters.size(); ++i) {
      const std::string& input = forward_.parameters[i];
      const auto given = binding.inputs.find(input);
      if (!is_tensor(i) && !forward_.types[i].starts_with("Optional") &&
          forward_.types[i].find("Tensor") != std::string::npos)
        return bad_input(what_ + ": input " + in_quotes(input) + " is of type " + in_quotes(forward_.types[i]) +
                         "; a network whose inputs are tensors can be read: export it with torch.export");
      if (given != binding.inputs.end() || !is_required(i)) continue;
      missing += (missing.empty() ? "" : ", ") + printable(input);
      example += " --input " + printable(input) + "=";
      const Use use = first_use(input);
      example += use.example;
      if (!use.text.empty()) example += " (" + use.text + ")";
    }
    if (missing.empty()) return ok();
    return bad_input(what_ + ": the file does not state the shapes of its inputs (" + missing + "); give them, as in" +
                     example);
  }

  struct Use {
    std::string example = "1x3x224x224";
    std::string text;
  };

  // What the input's first convolution, linear layer or embedding says about it.
  [[nodiscard]] Use first_use(const std::string& input) const {
    Graph graph;
    graph.blocks.emplace_back();
    GraphWriter writer(graph);
    std::vector<Argument> arguments;
    ValueId wanted = kNoValue;
    for (std::size_t i = 1; i < forward_.parameters.size(); ++i) {
      const ValueId id = writer.add_value(forward_.parameters[i], DType::Float32, std::nullopt, ValueRole::Input);
      if (forward_.parameters[i] == input) wanted = id;
      arguments.push_back({Tensor{id}});
    }
    Use use;
    ScriptRun run(program_, writer);
    run.observer = [&](const Operation& operation) {
      const auto tensor_at = [&](std::size_t i) -> ValueId {
        if (i >= operation.arguments.size()) return kNoValue;
        const Argument& argument = operation.arguments[i].second;
        const List* list = argument.as<List>();
        const auto* tensor = (list != nullptr && !(*list)->empty() ? (*list)->front() : argument).as<Tensor>();
        return tensor != nullptr ? tensor->id : kNoValue;
      };
      // Where the operator takes the input, and where its weight.
      const bool takes_table = operation.name == "embedding";
      const bool is_recurrent = operation.name == "lstm" || operation.name == "gru";
      const Dims* weight = writer.shape(tensor_at(takes_table ? 0 : is_recurrent ? 2 : 1));
      if (!use.text.empty() || weight == nullptr || weight->size() < 2 || tensor_at(takes_table ? 1 : 0) != wanted)
        return;
      describe(operation.name, *weight, use);
    };
    std::unordered_map<const void*, Argument> copies;
    const auto ignored = run.call_method(copy_of(program_.root, copies), "forward", std::move(arguments));
    (void)ignored;
    return use;
  }

  static void describe(const std::string& name, const Dims& weight, Use& use) {
    if (name.find("conv") != std::string::npos && weight.size() >= 3) {
      use.example = "1x" + std::to_string(weight[1]);
      for (std::size_t i = 2; i < weight.size(); ++i)
        use.example += weight.size() == 3 ? "x16000" : weight.size() == 4 ? "x224" : "x32";
      use.text = "its first convolution takes " + std::to_string(weight[1]) + " channels";
    } else if (name == "linear" && weight.size() == 2) {
      use.example = "1x" + std::to_string(weight[1]);
      use.text = "its first linear layer takes " + std::to_string(weight[1]) + " features";
    } else if ((name == "lstm" || name == "gru") && weight.size() == 2) {
      use.example = "1x128x" + std::to_string(weight[1]);
      use.text = "its first recurrent layer takes " + std::to_string(weight[1]) + " features";
    } else if (name == "embedding") {
      use.example = "1x128";
      use.text = "it holds indices of an embedding";
    }
  }

  ScriptProgram program_;
  const ScriptFunction& forward_;
  std::string name_;
  std::string what_;
  Graph inputs_;
};

}  // namespace

Result<std::unique_ptr<Network>> read_script_archive(ZipArchive& archive, const std::string& name,
                                                     const std::string& what) {
  FORERUN_TRY(ScriptProgram program, read_script_program(archive, what));
  const Object* root = program.root.as<Object>();
  if (root == nullptr) return bad_input(what + ": data.pkl holds no module");
  const auto found = program.code.classes.find((*root)->name);
  if (found == program.code.classes.end())
    return bad_input(what + ": class " + in_quotes((*root)->name) + " is not among the archive's code");
  const auto forward = found->second.methods.find("forward");
  if (forward == found->second.methods.end() || forward->second.parameters.empty()) {
    std::string methods;
    for (const auto& [method, function] : found->second.methods) methods += (methods.empty() ? "" : ", ") + method;
    return bad_input(what + ": the module has no forward method (it has: " + printable(methods) +
                     "); save one whose forward runs the network");
  }
  // The map's nodes stay where they are when the program is moved.
  const ScriptFunction& function = forward->second;
  return std::unique_ptr<Network>(std::make_unique<ScriptNetwork>(std::move(program), function, name, what));
}

}  // namespace forerun::pytorch
