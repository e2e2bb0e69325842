#include "readers/onnx/onnx_reader.hpp"

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "readers/onnx/graph_builder.hpp"
#include "readers/onnx/stored_constants.hpp"
#include "readers/printable.hpp"
#include "readers/protobuf.hpp"

namespace forerun {
namespace onnx {
namespace {

using protobuf::bytes;
using protobuf::Message;
using protobuf::varint;

constexpr std::int64_t kOldestIrVersion = 3;
constexpr std::int64_t kNewestIrVersion = 100;  // far beyond any that exists: above it the number is damage
constexpr std::int64_t kOldestOpset = 7;
constexpr std::int64_t kNewestOpset = 26;

struct ModelMessage {
  std::int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::optional<std::string_view> graph;
  std::vector<std::string_view> opset_imports;
  std::vector<std::string_view> functions;
};

ModelMessage split_model(std::string_view view) {
  ModelMessage model;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): model.ir_version = message.get_int64(); break;
      case bytes(2): model.producer_name = message.get_view(); break;
      case bytes(3): model.producer_version = message.get_view(); break;
      case bytes(7): model.graph = message.get_view(); break;
      case bytes(8): model.opset_imports.push_back(message.get_view()); break;
      case bytes(25): model.functions.push_back(message.get_view()); break;
      default: message.skip();
    }
  }
  return model;
}

// The version of the standard operators, as the file says.
std::optional<std::int64_t> find_opset(const ModelMessage& model) {
  std::optional<std::int64_t> opset;
  for (const std::string_view view : model.opset_imports) {
    std::string_view domain;
    std::int64_t version = 0;
    Message message(view);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case bytes(1): domain = message.get_view(); break;
        case varint(2): version = message.get_int64(); break;
        default: message.skip();
      }
    }
    if (domain.empty() || domain == "ai.onnx") opset = version;
  }
  return opset;
}

std::int64_t choose_opset(std::optional<std::int64_t> stated, bool needed, ReadContext& context) {
  const std::string newest = std::to_string(kNewestOpset);
  if (!stated) {
    if (needed) context.warn("the file does not say its opset; read as " + newest);
    return kNewestOpset;
  }
  const std::string version = std::to_string(*stated);
  if (*stated > kNewestOpset || *stated <= 0) {
    context.warn("opset " + version + " is not known; read as " + newest);
    return kNewestOpset;
  }
  if (*stated < kOldestOpset) {
    context.warn("opset " + version + " is older than " + std::to_string(kOldestOpset) +
                 "; operators that changed since may be read wrongly");
  }
  return *stated;
}

Framework framework_of(std::string_view exporter) {
  if (exporter.find("pytorch") != std::string_view::npos) return Framework::PyTorch;
  if (exporter.find("tf2onnx") != std::string_view::npos) return Framework::TensorFlow;
  if (exporter.find("paddle") != std::string_view::npos || exporter.find("Paddle") != std::string_view::npos)
    return Framework::PaddlePaddle;
  return Framework::Unknown;
}

// PyTorch's exporters fold batch normalisations into convolutions, which eager PyTorch does not. The older one renames
// the weight "onnx::Conv_123"; the newer one (Dynamo) notes it at the node, and names a bias that it makes by the
// weight.
void mark_folded_norms(Graph& graph, bool has_metadata, ReadContext& context) {
  std::int64_t marked = 0, unmarked = 0;
  bool is_dynamo = false, has_norms = false;
  for (Value& value : graph.values) value.has_folded_norm |= value.name.starts_with("onnx::Conv");
  for (const Node& node : graph.main().nodes) {
    is_dynamo = is_dynamo || node.name.starts_with("node_");
    has_norms = has_norms || node.kind == OpKind::BatchNormalization;
    if ((node.kind != OpKind::Conv && node.kind != OpKind::ConvTranspose) || node.inputs.size() < 3 ||
        node.inputs[1] == kNoValue || node.inputs[2] == kNoValue)
      continue;
    Value& weight = graph.values[std::size_t(node.inputs[1])];
    if (graph.values[std::size_t(node.inputs[2])].name == weight.name + "_bias") weight.has_folded_norm = true;
    ++(weight.has_folded_norm ? marked : unmarked);
  }
  if (is_dynamo && !has_metadata && !has_norms && marked == 0 && unmarked > 1) {
    context.warn("the exporter's notes at nodes were removed: batch normalisations that it may have folded into " +
                 std::to_string(unmarked) +
                 " convolutions are not counted, which eager PyTorch runs; give the file as exported, or a .pt2");
  }
}

// What only names tell: PyTorch's exporter names a node "/module/inner/Conv" by the modules it ran in.
void fill_origin(const ModelMessage& model, bool has_metadata, ReadContext& context, Graph& graph) {
  graph.origin.exporter = printable(model.producer_name);
  graph.origin.framework = framework_of(graph.origin.exporter);
  if (!model.producer_version.empty()) graph.origin.exporter += " " + printable(model.producer_version);
  for (Node& node : graph.main().nodes) {
    const std::size_t end = node.name.rfind('/');
    if (end == std::string::npos) continue;
    set_module(graph, node, std::string_view(node.name).substr(0, end));
    if (node.name.starts_with('/') && std::count(node.name.begin(), node.name.end(), '/') > 2)
      graph.origin.has_call_paths = true;
  }
  if (graph.origin.framework == Framework::PyTorch) mark_folded_norms(graph, has_metadata, context);
}

Status build(std::string_view file, ReadContext& context, Graph& graph) {
  const ModelMessage model = split_model(file);
  if (!model.graph) return bad_input("not a valid ONNX file: it has no graph");
  if (model.ir_version < kOldestIrVersion || model.ir_version > kNewestIrVersion) {
    context.warn("IR version " + std::to_string(model.ir_version) + " is not known; read like version 3 and up");
  }
  graph.format = "onnx";
  GraphBuilder builder(graph, context);
  for (const std::string_view function : model.functions) FORERUN_CHECK(builder.add_function(function));
  FORERUN_CHECK(builder.build_main(*model.graph));
  fill_origin(model, builder.has_metadata(), context, graph);
  graph.opset = choose_opset(find_opset(model), builder.uses_standard_operators(), context);
  FORERUN_CHECK(verify(graph));
  mark_stored_weights(graph);
  return ok();
}

// protozero's exceptions stop here.
Status read(std::string_view file, ReadContext& context, Graph& graph) {
  try {
    return build(file, context, graph);
  } catch (const protozero::end_of_buffer_exception&) {
    return bad_input("not a valid ONNX file: cut short or damaged near byte " + std::to_string(context.position()));
  } catch (const protozero::exception& error) {
    return bad_input("not a valid ONNX file: " + std::string(error.what()) + " near byte " +
                     std::to_string(context.position()));
  }
}

bool looks_like_model(std::string_view file) {
  bool has_graph = false;
  bool has_version = false;
  Message message(file);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): has_version = true; break;
      case bytes(7): has_graph = true; break;
      case bytes(2):
      case bytes(3):
      case bytes(4):
      case varint(5):
      case bytes(6):
      case bytes(8):
      case bytes(14):
      case bytes(20):
      case bytes(25):
      case bytes(26): break;
      default: return false;
    }
    message.skip();
  }
  return has_graph && has_version;
}

}  // namespace
}  // namespace onnx

bool is_onnx(const Source& source) {
  try {
    return !source.is_folder && onnx::looks_like_model(source.bytes);
  } catch (const protozero::exception&) {
    return false;
  }
}

Result<std::unique_ptr<Network>> read_onnx(std::string_view bytes, const std::string& name, const Folder& folder,
                                           OnnxLimits limits, const CancelToken& cancel) {
  onnx::ReadContext context(bytes, folder, limits, cancel);
  Graph graph;
  if (const Status status = onnx::read(bytes, context, graph); !status) {
    return Error{status.error().kind, name + ": " + status.error().message};
  }
  if (graph.name.empty()) graph.name = printable(std::filesystem::path(name).stem().string());
  std::vector<std::string> warnings = context.warnings();  // before those of verify()
  warnings.insert(warnings.end(), graph.warnings.begin(), graph.warnings.end());
  graph.warnings = std::move(warnings);
  return make_fixed_network(std::move(graph));
}

Result<std::unique_ptr<Network>> read_onnx_source(const Source& source) {
  return read_onnx(source.bytes, source.path.string(), source.folder, {}, source.cancel);
}

}  // namespace forerun
