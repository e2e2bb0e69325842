#include "readers/tensorflow/tensorflow_reader.hpp"

#include <filesystem>
#include <optional>
#include <utility>

#include "readers/printable.hpp"
#include "readers/protobuf.hpp"
#include "readers/tensorflow/saved_model.hpp"
#include "readers/tensorflow/tfjs.hpp"
#include "readers/tensorflow/tflite.hpp"
#include "readers/tensorflow/translator.hpp"

namespace forerun {
namespace tensorflow {
namespace {

Result<Graph> translate(const Program& program, Budget& budget) {
  Graph graph;
  graph.name = program.name;
  graph.format = program.format;
  graph.origin.framework = Framework::TensorFlow;
  graph.origin.exporter = program.exporter;
  FORERUN_CHECK(Translator(program, graph, budget).run());
  return graph;
}

// protozero's exceptions stop here.
template <typename Read>
Result<Program> guarded(Read read, std::string_view bytes, Budget& budget) {
  try {
    return read(bytes, budget);
  } catch (const protozero::exception& error) {
    return bad_input("not a valid TensorFlow file: cut short or damaged (" + std::string(error.what()) + ")");
  }
}

template <typename Looks>
bool matches(Looks looks_like, const Source& source) {
  try {
    return !source.is_folder && looks_like(source.bytes);
  } catch (const protozero::exception&) {
    return false;
  }
}

constexpr std::string_view kSavedModelFile = "saved_model.pb";

Result<std::unique_ptr<Network>> finish(Result<Program> program, const std::string& name, Budget& budget) {
  if (!program) return Error{program.error().kind, name + ": " + program.error().message};
  Result<Graph> graph = translate(*program, budget);
  if (!graph) return Error{graph.error().kind, name + ": " + graph.error().message};
  std::filesystem::path path(name);
  if ((path.filename() == kSavedModelFile || path.filename() == "model.json") && path.has_parent_path())
    path = path.parent_path();
  if (graph->name.empty() || graph->name == "main") graph->name = printable(path.stem().string());
  return make_fixed_network(*std::move(graph));
}

}  // namespace
}  // namespace tensorflow

bool is_tflite(const Source& source) { return !source.is_folder && tensorflow::has_tflite_identifier(source.bytes); }

Result<std::unique_ptr<Network>> read_tflite(std::string_view bytes, const std::string& name,
                                             tensorflow::Limits limits) {
  tensorflow::Budget budget(limits);
  return tensorflow::finish(tensorflow::read_tflite_program(bytes, budget), name, budget);
}

Result<std::unique_ptr<Network>> read_tflite_source(const Source& source) {
  return read_tflite(source.bytes, source.path.string());
}

bool is_saved_model(const Source& source) {
  if (source.is_folder) return source.folder.has(tensorflow::kSavedModelFile);
  return tensorflow::matches(tensorflow::looks_like_saved_model, source);
}

bool is_graph_def(const Source& source) { return tensorflow::matches(tensorflow::looks_like_graph_def, source); }

Result<std::unique_ptr<Network>> read_saved_model(std::string_view bytes, const std::string& name,
                                                  tensorflow::Limits limits) {
  tensorflow::Budget budget(limits);
  return tensorflow::finish(tensorflow::guarded(tensorflow::read_saved_model_program, bytes, budget), name, budget);
}

Result<std::unique_ptr<Network>> read_graph_def(std::string_view bytes, const std::string& name,
                                                tensorflow::Limits limits) {
  tensorflow::Budget budget(limits);
  return tensorflow::finish(tensorflow::guarded(tensorflow::read_graph_def_program, bytes, budget), name, budget);
}

Result<std::unique_ptr<Network>> read_saved_model_source(const Source& source) {
  if (!source.is_folder) return read_saved_model(source.bytes, source.path.string());
  FORERUN_TRY(const FileBytes file, source.folder.open(tensorflow::kSavedModelFile));
  return read_saved_model(file.view(), source.folder.path_of(tensorflow::kSavedModelFile));
}

Result<std::unique_ptr<Network>> read_graph_def_source(const Source& source) {
  return read_graph_def(source.bytes, source.path.string());
}

bool is_tfjs_graph(const Source& source) {
  return !source.is_folder && tensorflow::looks_like_tfjs_graph(source.bytes);
}

Result<std::unique_ptr<Network>> read_tfjs_graph(std::string_view bytes, const std::string& name, const Folder& folder,
                                                 tensorflow::Limits limits) {
  tensorflow::Budget budget(limits);
  return tensorflow::finish(tensorflow::read_tfjs_program(bytes, folder, budget), name, budget);
}

Result<std::unique_ptr<Network>> read_tfjs_graph_source(const Source& source) {
  return read_tfjs_graph(source.bytes, source.path.string(), source.folder);
}

}  // namespace forerun
