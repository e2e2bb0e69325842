#include "readers/tensorflow/tensorflow_reader.hpp"

#include <filesystem>
#include <utility>

#include "readers/printable.hpp"
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

Result<std::unique_ptr<Network>> finish(Result<Program> program, const std::string& name, Budget& budget) {
  if (!program) return Error{program.error().kind, name + ": " + program.error().message};
  Result<Graph> graph = translate(*program, budget);
  if (!graph) return Error{graph.error().kind, name + ": " + graph.error().message};
  if (graph->name.empty()) graph->name = printable(std::filesystem::path(name).stem().string());
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

}  // namespace forerun
