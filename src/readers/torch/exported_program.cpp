#include "readers/torch/exported_program.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/checked.hpp"
#include "readers/json_text.hpp"
#include "readers/printable.hpp"

namespace forerun::pytorch {
namespace {

constexpr std::size_t kMaxProgramBytes = std::size_t{128} << 20;
constexpr std::size_t kMaxRank = 64;
constexpr int kMaxGraphDepth = 16;
constexpr std::size_t kMaxGraphs = 4096;

// ScalarType as the schema numbers it: one more than c10's.
DType schema_type(std::int64_t number) {
  switch (number) {
    case 13: return DType::BFloat16;
    case 28: return DType::UInt16;
    case 29: return DType::Float8E4M3FN;
    case 30: return DType::Float8E5M2;
    case 31: return DType::Float8E4M3FNUZ;
    case 32: return DType::Float8E5M2FNUZ;
    case 33: return DType::Float8E8M0;
    case 34: return DType::UInt32;
    case 35: return DType::UInt64;
    default: return number >= 1 && number <= 12 ? dtype_of_number(number - 1) : DType::Undefined;
  }
}

const Json* member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

std::string text_of(const Json& json, const char* name) {
  const Json* found = member(json, name);
  return found != nullptr && found->is_string() ? printable(found->get_ref<const std::string&>()) : "";
}

std::int64_t clamped(const Json& json) {
  if (json.is_number_unsigned())
    return std::int64_t(std::min<std::uint64_t>(json.get<std::uint64_t>(), std::uint64_t(kSizeLimit)));
  if (json.is_number_integer()) return std::clamp(json.get<std::int64_t>(), -kSizeLimit, kSizeLimit);
  return 0;
}

class ProgramReader {
 public:
  ProgramReader(ExportedProgram& program, TiedWeights tied) : program_(program), tied_(std::move(tied)) {}

  Status read(const Json& json, const Json& weights) {
    const Json* module = member(json, "graph_module");
    const Json* graph = module != nullptr ? member(*module, "graph") : nullptr;
    const Json* signature = module != nullptr ? member(*module, "signature") : nullptr;
    if (graph == nullptr || signature == nullptr) return bad_input("the program has no graph with a signature");
    program_.exporter = "torch.export";
    if (const std::string version = text_of(json, "torch_version"); !version.empty())
      program_.exporter += " " + version;
    tie_weights(weights);
    FORERUN_TRY(const std::int32_t main, read_graph(*graph, 0));
    if (main != 0) return internal_error("the network is not the first graph");
    FORERUN_CHECK(read_signature(*signature));
    read_ranges(json);
    return ok();
  }

 private:
  // Weights that share one entry of the archive are one weight.
  void tie_weights(const Json& weights) {
    const Json* config = member(weights, "config");
    if (config == nullptr || !config->is_object()) return;
    std::map<std::string, std::string> first;
    for (const auto& [name, meta] : config->items()) {
      const std::string path = text_of(meta, "path_name");
      if (!path.empty()) tied_[printable(name)] = first.try_emplace(path, printable(name)).first->second;
    }
  }

  Result<Size> read_size(const Json& json) {
    if (json.is_number_integer()) return Size{clamped(json), -1};
    if (const Json* number = member(json, "as_int")) return Size{clamped(*number), -1};
    const Json* expression = member(json, "as_expr");
    if (expression == nullptr) return bad_input("a size is neither a number nor an expression");
    const std::string text = text_of(*expression, "expr_str");
    const auto known = expressions_.find(text);
    if (known != expressions_.end()) return Size{0, known->second};
    FORERUN_TRY(Expression parsed, Expression::parse(text));
    program_.has_symbols = program_.has_symbols || !parsed.symbols().empty();
    program_.expressions.push_back(std::move(parsed));
    const auto place = std::int32_t(program_.expressions.size() - 1);
    expressions_.emplace(text, place);
    return Size{0, place};
  }

  Status read_tensors(const Json& json, ExportedGraph& graph) {
    const Json* values = member(json, "tensor_values");
    if (values == nullptr || !values->is_object()) return bad_input("the graph has no 'tensor_values'");
    for (const auto& [name, meta] : values->items()) {
      TensorMeta tensor;
      if (const Json* type = member(meta, "dtype")) tensor.type = schema_type(clamped(*type));
      const Json* sizes = member(meta, "sizes");
      if (sizes == nullptr || !sizes->is_array() || sizes->size() > kMaxRank)
        return bad_input("tensor " + in_quotes(name) + " has no sizes");
      for (const Json& size : *sizes) {
        FORERUN_TRY(tensor.sizes.emplace_back(), read_size(size));
      }
      graph.tensors.emplace(printable(name), std::move(tensor));
    }
    const Json* numbers = member(json, "sym_int_values");
    if (numbers == nullptr || !numbers->is_object()) return ok();
    for (const auto& [name, value] : numbers->items()) {
      FORERUN_TRY(const Size size, read_size(value));
      graph.numbers.emplace(printable(name), size);
    }
    return ok();
  }

  Result<std::int32_t> read_graph(const Json& json, int depth) {
    if (depth > kMaxGraphDepth || program_.graphs.size() > kMaxGraphs) return bad_input("graphs are nested too deep");
    const auto place = program_.graphs.size();
    program_.graphs.emplace_back();
    ExportedGraph graph;
    FORERUN_CHECK(read_tensors(json, graph));
    const Json* inputs = member(json, "inputs");
    const Json* outputs = member(json, "outputs");
    const Json* nodes = member(json, "nodes");
    if (inputs == nullptr || outputs == nullptr || nodes == nullptr || !nodes->is_array())
      return bad_input("the graph lacks inputs, outputs or nodes");
    if (nodes->size() > kMaxNodes) return Error{ErrorKind::TooLarge, "the graph has too many nodes"};
    for (const Json& input : *inputs) graph.inputs.push_back(input_name(input));
    for (const Json& output : *outputs) {
      FORERUN_TRY(graph.outputs.emplace_back(), read_argument(output, depth));
    }
    for (const Json& node : *nodes) {
      FORERUN_TRY(graph.nodes.emplace_back(), read_node(node, depth));
    }
    mark_used(graph);
    program_.graphs[place] = std::move(graph);
    return std::int32_t(place);
  }

  static void mark_used(const Argument& argument, std::unordered_set<std::string>& used) {
    if (const auto* named = argument.as<Named>()) used.insert(named->name);
    if (const List* list = argument.as<List>()) {
      for (const Argument& item : **list) mark_used(item, used);
    }
  }

  static void mark_used(ExportedGraph& graph) {
    for (const Argument& output : graph.outputs) mark_used(output, graph.used);
    for (ExportedNode& node : graph.nodes) {
      for (const auto& [name, argument] : node.operation.arguments) mark_used(argument, graph.used);
    }
    for (ExportedNode& node : graph.nodes) {
      for (const ExportedOutput& output : node.outputs) {
        const bool is_used = std::any_of(output.names.begin(), output.names.end(),
                                         [&](const std::string& name) { return graph.used.contains(name); });
        node.operation.used.push_back(is_used);
      }
    }
  }

  static std::string input_name(const Json& json) {
    if (const Json* tensor = member(json, "as_tensor")) return text_of(*tensor, "name");
    for (const char* form : {"as_sym_int", "as_sym_float", "as_sym_bool"}) {
      if (const Json* number = member(json, form)) return text_of(*number, "as_name");
    }
    return "";
  }

  Result<ExportedNode> read_node(const Json& json, int depth) {
    ExportedNode node;
    const std::string target = text_of(json, "target");
    set_target(target, node.operation);
    const Json* inputs = member(json, "inputs");
    if (inputs != nullptr && inputs->is_array()) {
      for (const Json& input : *inputs) {
        const Json* argument = member(input, "arg");
        if (argument == nullptr) return bad_input("an argument of " + in_quotes(target) + " has no value");
        FORERUN_TRY(Argument read, read_argument(*argument, depth));
        node.operation.arguments.emplace_back(text_of(input, "name"), std::move(read));
      }
    }
    const Json* outputs = member(json, "outputs");
    if (outputs != nullptr && outputs->is_array()) {
      for (const Json& output : *outputs) node.outputs.push_back(read_output(output));
    }
    node.operation.results = node.outputs.size();
    for (const ExportedOutput& output : node.outputs) {
      if (node.name.empty() && !output.names.empty()) node.name = output.names.front();
    }
    if (const Json* metadata = member(json, "metadata")) node.module = module_of(text_of(*metadata, "nn_module_stack"));
    return node;
  }

  // "torch.ops.aten.add.Tensor", "torch.ops.higher_order.cond", "_operator.mul".
  static void set_target(std::string_view target, Operation& operation) {
    constexpr std::string_view kPrefix = "torch.ops.";
    const bool is_operator = target.starts_with(kPrefix);
    if (is_operator) target.remove_prefix(kPrefix.size());
    const std::size_t dot = target.find('.');
    operation.space = std::string(target.substr(0, dot));
    target = dot == std::string_view::npos ? std::string_view{} : target.substr(dot + 1);
    const std::size_t second = target.find('.');
    operation.name = std::string(target.substr(0, second));
    if (second != std::string_view::npos) operation.overload = std::string(target.substr(second + 1));
    if (operation.overload == "default") operation.overload.clear();
  }

  static ExportedOutput read_output(const Json& json) {
    using Form = ExportedOutput::Form;
    if (const Json* tensor = member(json, "as_tensor")) return {Form::Tensor, {text_of(*tensor, "name")}};
    if (const Json* tensors = member(json, "as_tensors"); tensors != nullptr && tensors->is_array()) {
      ExportedOutput output{Form::Tensors, {}};
      for (const Json& tensor : *tensors) output.names.push_back(text_of(tensor, "name"));
      return output;
    }
    if (const Json* tensors = member(json, "as_optional_tensors"); tensors != nullptr && tensors->is_array()) {
      ExportedOutput output{Form::Tensors, {}};
      for (const Json& tensor : *tensors) {
        const Json* given = member(tensor, "as_tensor");
        output.names.push_back(given != nullptr ? text_of(*given, "name") : "");
      }
      return output;
    }
    for (const char* form : {"as_sym_int", "as_sym_float", "as_sym_bool"}) {
      if (const Json* number = member(json, form)) return {Form::Number, {text_of(*number, "as_name")}};
    }
    return {};
  }

  // The path of the innermost module: "L__self__,,Net;L__self___block,block,Block" is "block".
  static std::string module_of(std::string_view stack) {
    const std::string_view last = stack.substr(stack.rfind(';') == std::string_view::npos ? 0 : stack.rfind(';') + 1);
    const std::size_t first = last.find(','),
                      second = first == std::string_view::npos ? first : last.find(',', first + 1);
    if (second == std::string_view::npos) return "";
    std::string path(last.substr(first + 1, second - first - 1));
    if (path.find_first_of("()[]'\" ") != std::string::npos || path.starts_with("_empty_nn_module")) return "";
    std::replace(path.begin(), path.end(), '.', '/');
    return path;
  }

  Result<Argument> read_argument(const Json& json, int depth) {
    if (!json.is_object() || json.size() != 1) return bad_input("an argument has no single form");
    const std::string& form = json.begin().key();
    const Json& value = json.begin().value();
    if (form == "as_tensor") return Argument{Named{text_of(value, "name")}};
    if (form == "as_string") return value.is_string() ? Argument{value.get<std::string>()} : Argument{};
    if (form == "as_int" || form == "as_float" || form == "as_bool") return scalar(value);
    if (form == "as_scalar_type") return Argument{ElementType{schema_type(clamped(value))}};
    if (form == "as_sym_int" || form == "as_sym_float" || form == "as_sym_bool") return symbolic(value);
    if (form == "as_optional_tensor") return optional(value);
    if (form == "as_device") return Argument{std::string("device")};
    if (form == "as_layout" || form == "as_memory_format") return Argument{std::string("layout")};
    if (form == "as_graph") return sub_graph(value, depth);
    if (form == "as_none" || !value.is_array()) return Argument{};
    std::vector<Argument> items;
    for (const Json& item : value) {
      if (form == "as_tensors") {
        items.push_back({Named{text_of(item, "name")}});
      } else if (form == "as_optional_tensors") {
        items.push_back(optional(item));
      } else if (item.is_object()) {
        items.push_back(symbolic(item));
      } else if (form == "as_strings") {
        items.push_back({item.is_string() ? item.get<std::string>() : std::string()});
      } else {
        items.push_back(scalar(item));
      }
    }
    return make_list(std::move(items));
  }

  static Argument scalar(const Json& json) {
    if (json.is_boolean()) return {json.get<bool>()};
    if (json.is_number_integer()) return {clamped(json)};
    if (json.is_number()) return {json.get<double>()};
    const double infinity = std::numeric_limits<double>::infinity();
    if (json == "Infinity") return {infinity};
    if (json == "NaN") return {0.0};
    return {-infinity};  // "-Infinity"; JSON itself has no word for what a mask fills with
  }

  static Argument symbolic(const Json& json) {
    if (const Json* name = member(json, "as_name"); name != nullptr && name->is_string())
      return {Named{printable(name->get_ref<const std::string&>())}};
    for (const char* form : {"as_int", "as_float", "as_bool"}) {
      if (const Json* number = member(json, form)) return scalar(*number);
    }
    return {};
  }

  static Argument optional(const Json& json) {
    const Json* tensor = member(json, "as_tensor");
    if (tensor == nullptr) return {};
    const bool is_name = tensor->is_string();  // up to version 2.3
    return {Named{is_name ? printable(tensor->get_ref<const std::string&>()) : text_of(*tensor, "name")}};
  }

  Result<Argument> sub_graph(const Json& json, int depth) {
    const Json* graph = member(json, "graph");
    if (graph == nullptr) return bad_input("a body has no graph");
    FORERUN_TRY(const std::int32_t place, read_graph(*graph, depth + 1));
    return Argument{SubGraph{place}};
  }

  Status read_signature(const Json& json) {
    const Json* inputs = member(json, "input_specs");
    const Json* outputs = member(json, "output_specs");
    if (inputs == nullptr || !inputs->is_array() || outputs == nullptr || !outputs->is_array())
      return bad_input("the signature lacks inputs or outputs");
    for (const Json& spec : *inputs) read_input(spec);
    for (const Json& spec : *outputs) {
      if (!spec.is_object() || spec.empty()) continue;
      const std::string& form = spec.begin().key();
      const Json& value = spec.begin().value();
      if (form == "buffer_mutation") mark_mutated(text_of(value, "buffer_name"));
      const Json* argument = member(value, "arg");
      if (argument == nullptr || (form != "user_output" && form != "loss_output" && form != "buffer_mutation"))
        continue;
      const std::string name = form == "user_output" ? input_name(*argument) : text_of(*argument, "name");
      if (!name.empty()) program_.outputs.push_back(name);
    }
    return ok();
  }

  void read_input(const Json& spec) {
    if (!spec.is_object() || spec.empty()) return;
    const std::string& form = spec.begin().key();
    const Json& value = spec.begin().value();
    const Json* argument = member(value, "arg");
    ExportedInput input;
    using Role = ExportedInput::Role;
    constexpr std::array<std::tuple<std::string_view, Role, const char*>, 4> kForms = {
        {{"user_input", Role::User, ""},
         {"parameter", Role::Parameter, "parameter_name"},
         {"buffer", Role::Buffer, "buffer_name"},
         {"tensor_constant", Role::Constant, "tensor_constant_name"}}};
    for (const auto& [name, role, target] : kForms) {
      if (form != name) continue;
      input.role = role;
      if (*target != '\0') input.target = text_of(value, target);
    }
    if (argument != nullptr) input.name = input.role == Role::User ? input_name(*argument) : text_of(*argument, "name");
    if (const auto tied = tied_.find(input.target); tied != tied_.end()) input.target = tied->second;
    program_.inputs.push_back(std::move(input));
  }

  void mark_mutated(const std::string& buffer) {
    for (ExportedInput& input : program_.inputs) {
      if (input.role == ExportedInput::Role::Buffer && input.target == buffer) input.is_mutated = true;
    }
  }

  void read_ranges(const Json& json) {
    const Json* ranges = member(json, "range_constraints");
    if (ranges == nullptr || !ranges->is_object()) return;
    for (const auto& [symbol, range] : ranges->items()) {
      const Json* largest = member(range, "max_val");
      if (largest != nullptr && largest->is_number_integer()) program_.largest[printable(symbol)] = clamped(*largest);
    }
  }

  ExportedProgram& program_;
  TiedWeights tied_;
  std::unordered_map<std::string, std::int32_t> expressions_;
};

}  // namespace

Result<ExportedProgram> read_exported_program(std::string_view json, std::string_view weights, TiedWeights tied,
                                              const std::string& what) {
  FORERUN_TRY(const Json parsed, parse_json_text(json, what, kMaxProgramBytes));
  Json table;
  if (!weights.empty()) {
    FORERUN_TRY(table, parse_json_text(weights, what, kMaxProgramBytes));
  }
  ExportedProgram program;
  if (const Status status = ProgramReader(program, std::move(tied)).read(parsed, table); !status)
    return Error{status.error().kind, what + ": " + status.error().message};
  return program;
}

}  // namespace forerun::pytorch
