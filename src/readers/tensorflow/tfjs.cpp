#include "readers/tensorflow/tfjs.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checked.hpp"
#include "readers/json_text.hpp"
#include "readers/onnx/external_data.hpp"
#include "readers/tensorflow/graph_def.hpp"

namespace forerun::tensorflow {
namespace {

struct TypeName {
  std::string_view name;  // without "DT_"
  DType type;
};
constexpr TypeName kTypeNames[] = {
    {"FLOAT", DType::Float32}, {"DOUBLE", DType::Float64}, {"INT32", DType::Int32},   {"UINT8", DType::UInt8},
    {"INT16", DType::Int16},   {"INT8", DType::Int8},      {"STRING", DType::String}, {"COMPLEX64", DType::Complex64},
    {"INT64", DType::Int64},   {"BOOL", DType::Bool},      {"HALF", DType::Float16},  {"BFLOAT16", DType::BFloat16},
    {"UINT16", DType::UInt16}, {"UINT32", DType::UInt32},  {"UINT64", DType::UInt64},
};
// Of weights in the manifest.
constexpr TypeName kWeightTypes[] = {
    {"float32", DType::Float32},     {"float16", DType::Float16}, {"int32", DType::Int32},
    {"uint8", DType::UInt8},         {"uint16", DType::UInt16},   {"bool", DType::Bool},
    {"complex64", DType::Complex64}, {"string", DType::String},
};

DType find_type(std::span<const TypeName> names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const TypeName& row) { return row.name == name; });
  return found == names.end() ? DType::Undefined : found->type;
}

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string_view text_of(const Json* value) {
  const auto* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
  return text == nullptr ? std::string_view{} : std::string_view(*text);
}

// int64 is written as text.
std::optional<std::int64_t> integer_of(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const std::string_view text = text_of(&value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

DType type_of(const Json& value) {
  if (const std::string_view name = text_of(&value); name.starts_with("DT_")) {
    const bool is_reference = name.ends_with("_REF");
    return find_type(kTypeNames, name.substr(3, name.size() - 3 - (is_reference ? 4 : 0)));
  }
  const auto number = integer_of(value);
  return number ? read_dtype(*number) : DType::Undefined;
}

// Bytes are base64, in older files a list of numbers.
std::string bytes_of_json(const Json& value) {
  std::string result;
  if (value.is_array()) {
    for (const Json& one : value) result.push_back(char(integer_of(one).value_or(0)));
    return result;
  }
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text_of(&value)) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = kLetters.find(c);
    if (digit == std::string_view::npos) break;
    bits = (bits << 6) | std::uint32_t(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      result.push_back(char((bits >> count) & 0xFF));
    }
  }
  return result;
}

StatedShape shape_of(const Json& value) {
  StatedShape shape;
  if (const Json* unknown = member(value, "unknownRank");
      unknown != nullptr && unknown->is_boolean() && unknown->get<bool>())
    return shape;
  shape.is_known = true;
  const Json* dims = member(value, "dim");
  if (dims == nullptr || !dims->is_array()) return shape;
  for (const Json& dim : *dims) {
    const Json* size = member(dim, "size");
    const std::int64_t number = size == nullptr ? 0 : integer_of(*size).value_or(kUnknownDim);
    shape.dims.push_back(number < 0 ? kUnknownDim : number);
    if (shape.dims.size() > kMaxRank) return {};
  }
  return shape;
}

class TfjsReader {
 public:
  TfjsReader(const Folder& folder, Budget& budget) : folder_(folder), files_(folder), budget_(budget) {}

  Result<Program> run(const Json& model) {
    const Json* topology = member(model, "modelTopology");
    const Json* nodes = topology == nullptr ? nullptr : member(*topology, "node");
    if (nodes == nullptr || !nodes->is_array()) return bad_input("not a TensorFlow.js graph model: it has no nodes");
    FORERUN_CHECK(read_weights(member(model, "weightsManifest")));
    GraphDef graph;
    for (const Json& node : *nodes) {
      FORERUN_TRY(NodeDef made, read_node(node));
      graph.nodes.push_back(std::move(made));
    }
    const Json* library = member(*topology, "library");
    const Json* functions = library == nullptr ? nullptr : member(*library, "function");
    if (functions != nullptr && functions->is_array()) {
      for (const Json& function : *functions) {
        FORERUN_TRY(FunctionDef made, read_function(function));
        graph.functions.push_back(std::move(made));
      }
    }
    FORERUN_TRY(const Endpoints endpoints, read_endpoints(model, graph));
    FORERUN_TRY(Program program, build_program(std::move(graph), endpoints, budget_));
    program.format = "tfjs";
    program.exporter = printable(text_of(member(model, "convertedBy")).substr(0, 200));
    if (!missing_.empty())
      program.warnings.push_back("the weight file " + in_quotes(missing_) + " cannot be read: " + why_missing_ +
                                 "; shapes that depend on its constants are not known: put it beside model.json");
    return program;
  }

 private:
  Status read_weights(const Json* manifest) {
    if (manifest == nullptr || !manifest->is_array()) return ok();
    for (const Json& group : *manifest) {
      const Json* weights = member(group, "weights");
      const Json* paths = member(group, "paths");
      if (weights == nullptr || !weights->is_array()) continue;
      std::int64_t offset = 0;  // within the files of the group, one behind the other
      for (const Json& weight : *weights) FORERUN_CHECK(read_weight(weight, paths, offset));
    }
    return ok();
  }

  Status read_weight(const Json& weight, const Json* paths, std::int64_t& offset) {
    Tensor tensor;
    const std::string_view name = text_of(member(weight, "name"));
    FORERUN_CHECK(Budget::check_name(name));
    FORERUN_CHECK(budget_.charge(sizeof(Tensor) + std::int64_t(name.size())));
    tensor.dtype = find_type(kWeightTypes, text_of(member(weight, "dtype")));
    if (const Json* dims = member(weight, "shape"); dims != nullptr && dims->is_array()) {
      for (const Json& dim : *dims) tensor.dims.push_back(integer_of(dim).value_or(kUnknownDim));
    }
    for (const std::int64_t dim : tensor.dims) {
      if (dim < 0) return bad_input("the weight " + in_quotes(name) + " has a dimension without a size");
    }
    FORERUN_CHECK(check_dims(tensor.dims, tensor.dtype, name));
    tensor.has_shape = tensor.is_constant = true;
    DType stored = tensor.dtype;
    if (const Json* quantisation = member(weight, "quantization"); quantisation != nullptr) {
      stored = find_type(kWeightTypes, text_of(member(*quantisation, "dtype")));
      tensor.stored_bytes = bytes_of(stored, checked_product(tensor.dims));
    }
    const std::int64_t size = bytes_of(stored, checked_product(tensor.dims));
    if (stored == tensor.dtype && size > 0 && size <= kMaxLiteralElements * 8) {
      if (const auto bytes = find_bytes(paths, offset, size))
        tensor.literal = read_literal(tensor.dtype, tensor.dims, *bytes);
    }
    offset = checked_add(offset, size);
    weights_[std::string(name)] = std::move(tensor);
    return ok();
  }

  // A file of weights, mapped when it is first needed; nullptr, and why, when there is none.
  const FileBytes* file(const std::string& location) {
    if (const auto known = opened_.find(location); known != opened_.end()) return &known->second;
    const onnx::ExternalRange start{.location = location, .offset = 0, .length = 0};
    Status status = files_.check(start, 0);  // it lies in the model's folder
    if (status) {
      Result<FileBytes> opened = folder_.open(location);
      if (opened) return &opened_.emplace(location, *std::move(opened)).first->second;
      status = opened.error();
    }
    missing_ = location;
    why_missing_ = status.error().message;
    return nullptr;
  }

  // Shards lie one behind the other; a constant across two of them is not looked for.
  std::optional<std::string_view> find_bytes(const Json* paths, std::int64_t offset, std::int64_t size) {
    if (paths == nullptr || !paths->is_array() || !missing_.empty()) return std::nullopt;
    if (!files_.available()) {
      missing_ = paths->empty() ? std::string{} : std::string(text_of(&paths->front()));
      why_missing_ = "only model.json was given";
      return std::nullopt;
    }
    for (const Json& path : *paths) {
      const FileBytes* shard = file(std::string(text_of(&path)));
      if (shard == nullptr) return std::nullopt;
      const auto length = std::int64_t(shard->view().size());
      if (offset >= length) {
        offset -= length;
        continue;
      }
      if (size > length - offset) return std::nullopt;
      return shard->view().substr(std::size_t(offset), std::size_t(size));
    }
    return std::nullopt;
  }

  Result<NodeDef> read_node(const Json& json) {
    FORERUN_CHECK(budget_.add_operation());
    NodeDef node;
    const std::string_view raw_name = text_of(member(json, "name"));
    FORERUN_CHECK(Budget::check_name(raw_name));
    node.name = printable(raw_name);
    FORERUN_CHECK(Budget::check_name(text_of(member(json, "op"))));
    node.op = printable(text_of(member(json, "op")));
    if (const Json* inputs = member(json, "input"); inputs != nullptr && inputs->is_array()) {
      for (const Json& input : *inputs) {
        FORERUN_CHECK(Budget::check_name(text_of(&input)));
        node.inputs.push_back(printable(text_of(&input)));
      }
    }
    if (const Json* attributes = member(json, "attr"); attributes != nullptr && attributes->is_object()) {
      for (const auto& [name, value] : attributes->items()) {
        FORERUN_CHECK(budget_.charge(sizeof(AttributeDef)));
        AttributeDef attribute;
        attribute.name = printable(name.substr(0, 200));
        FORERUN_CHECK(read_attribute(value, attribute));
        node.attributes.push_back(std::move(attribute));
      }
    }
    if (node.op == "Const") {
      if (const auto found = weights_.find(std::string(raw_name)); found != weights_.end()) {
        std::erase_if(node.attributes, [](const AttributeDef& one) { return one.name == "value"; });
        AttributeDef value;
        value.name = "value";
        value.tensor = found->second;
        node.attributes.push_back(std::move(value));
      }
    }
    return node;
  }

  Status read_attribute(const Json& json, AttributeDef& attribute) {
    if (!json.is_object()) return ok();
    for (const auto& [field, value] : json.items()) {
      if (field == "i" || field == "b") {
        if (const auto number = integer_of(value)) attribute.value = *number;
      } else if (field == "f" && value.is_number()) {
        attribute.value = value.get<double>();
      } else if (field == "s") {
        attribute.value = printable(bytes_of_json(value).substr(0, kMaxNameBytes));
      } else if (field == "type") {
        attribute.type = type_of(value);
      } else if (field == "shape") {
        attribute.shapes = {shape_of(value)};
      } else if (field == "func") {
        attribute.functions.push_back(printable(text_of(member(value, "name")).substr(0, kMaxNameBytes)));
      } else if (field == "tensor") {
        Tensor tensor;
        if (const Json* type = member(value, "dtype")) tensor.dtype = type_of(*type);
        if (const Json* shape = member(value, "tensorShape")) tensor.dims = shape_of(*shape).dims;
        std::erase_if(tensor.dims, [](std::int64_t dim) { return dim < 0; });
        FORERUN_CHECK(check_dims(tensor.dims, tensor.dtype, attribute.name));
        tensor.has_shape = tensor.is_constant = true;
        attribute.tensor = std::move(tensor);
      } else if (field == "list") {
        FORERUN_CHECK(read_list(value, attribute));
      }
    }
    return ok();
  }

  Status read_list(const Json& json, AttributeDef& attribute) {
    if (!json.is_object()) return ok();
    for (const auto& [field, values] : json.items()) {
      if (!values.is_array()) continue;
      FORERUN_CHECK(budget_.charge(16 * std::int64_t(values.size())));
      std::vector<std::int64_t> ints;
      std::vector<double> reals;
      std::vector<std::string> texts;
      for (const Json& value : values) {
        if (field == "i" || field == "b") ints.push_back(integer_of(value).value_or(0));
        if (field == "f" && value.is_number()) reals.push_back(value.get<double>());
        if (field == "s") texts.push_back(printable(bytes_of_json(value).substr(0, kMaxNameBytes)));
        if (field == "shape") attribute.shapes.push_back(shape_of(value));
        if (field == "func")
          attribute.functions.push_back(printable(text_of(member(value, "name")).substr(0, kMaxNameBytes)));
      }
      if (!ints.empty()) attribute.value = std::move(ints);
      if (!reals.empty()) attribute.value = std::move(reals);
      if (!texts.empty()) attribute.value = std::move(texts);
    }
    return ok();
  }

  Result<FunctionDef> read_function(const Json& json) {
    FunctionDef function;
    const Json* signature = member(json, "signature");
    if (signature == nullptr) return bad_input("a function has no signature");
    function.name = printable(text_of(member(*signature, "name")).substr(0, kMaxNameBytes));
    if (const Json* arguments = member(*signature, "inputArg"); arguments != nullptr && arguments->is_array()) {
      for (const Json& one : *arguments) {
        ArgumentDef argument;
        argument.name = printable(text_of(member(one, "name")).substr(0, kMaxNameBytes));
        if (const Json* type = member(one, "type")) argument.type = type_of(*type);
        function.arguments.push_back(std::move(argument));
      }
    }
    if (const Json* nodes = member(json, "nodeDef"); nodes != nullptr && nodes->is_array()) {
      for (const Json& node : *nodes) {
        FORERUN_TRY(NodeDef made, read_node(node));
        function.nodes.push_back(std::move(made));
      }
    }
    const Json* returned = member(json, "ret");
    if (const Json* results = member(*signature, "outputArg"); results != nullptr && results->is_array()) {
      for (const Json& one : *results) {
        const std::string name(text_of(member(one, "name")));
        const Json* what = returned == nullptr ? nullptr : member(*returned, name.c_str());
        function.results.emplace_back(printable(name.substr(0, kMaxNameBytes)),
                                      printable(text_of(what).substr(0, kMaxNameBytes)));
      }
    }
    return function;
  }

  // The signature, where it names nodes that exist.
  Result<Endpoints> read_endpoints(const Json& model, const GraphDef& graph) {
    Endpoints endpoints;
    const Json* signature = member(model, "signature");
    if (signature == nullptr) {
      const Json* extra = member(model, "userDefinedMetadata");
      signature = extra == nullptr ? nullptr : member(*extra, "signature");
    }
    if (signature == nullptr) return endpoints;
    const auto exists = [&](std::string_view text) {
      const std::string_view name = text.substr(0, text.find(':'));
      return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                         [&](const NodeDef& node) { return node.name == name; });
    };
    for (const bool is_input : {true, false}) {
      const Json* entries = member(*signature, is_input ? "inputs" : "outputs");
      if (entries == nullptr || !entries->is_object()) continue;
      for (const auto& [key, info] : entries->items()) {
        const std::string name = printable(text_of(member(info, "name")).substr(0, kMaxNameBytes));
        if (name.empty() || !exists(name)) continue;
        if (!is_input) {
          endpoints.outputs.emplace_back(printable(key.substr(0, kMaxNameBytes)), name);
          continue;
        }
        ArgumentDef argument;
        argument.name = name;
        if (const Json* type = member(info, "dtype")) argument.type = type_of(*type);
        if (const Json* shape = member(info, "tensorShape")) argument.shape = shape_of(*shape);
        endpoints.inputs.push_back(std::move(argument));
      }
    }
    if (endpoints.outputs.empty()) endpoints.inputs.clear();
    return endpoints;
  }

  Folder folder_;
  onnx::ExternalData files_;
  std::map<std::string, FileBytes> opened_;
  Budget& budget_;
  std::map<std::string, Tensor, std::less<>> weights_;
  std::string missing_, why_missing_;
};

}  // namespace

bool looks_like_tfjs_graph(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 64);
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '{') return false;
  const std::size_t topology = bytes.find("\"modelTopology\"");
  return topology != std::string_view::npos && bytes.find("\"node\"", topology) != std::string_view::npos &&
         bytes.find("\"op\"", topology) != std::string_view::npos;
}

Result<Program> read_tfjs_program(std::string_view bytes, const Folder& folder, Budget& budget) {
  FORERUN_TRY(const Json model, parse_json_text(bytes, "model.json"));
  return TfjsReader(folder, budget).run(model);
}

}  // namespace forerun::tensorflow
