#include "readers/keras/keras_reader.hpp"

#include <utility>

#include "base/zip.hpp"
#include "readers/json_text.hpp"
#include "readers/keras/expander.hpp"
#include "readers/keras/hdf5_attribute.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 20;
constexpr const char* kTimedAsPyTorch =
    "Keras's layers are timed as PyTorch would run them (images as batch, channels, height, width), not as TensorFlow "
    "does";

using keras::member;
using keras::text_of;

// `model`: {"class_name", "config"}; `version`: of Keras, as the file says.
Result<std::unique_ptr<Network>> expand(const Json& model, const std::string& version, const std::string& name) {
  const Json* config = member(model, "config");
  if (!keras::is_network(model) || config == nullptr) {
    const std::string class_name = keras::class_of(model);
    return bad_input(name + ": its configuration holds no layers" +
                     (class_name.empty() ? "" : " (a subclassed network, " + in_quotes(class_name) + ")") +
                     "; export it with model.export() as a SavedModel, or to ONNX");
  }
  keras::Expander expander;
  if (const Status status = expander.run(model); !status)
    return Error{status.error().kind, name + ": " + status.error().message};
  Result<Graph> graph = expander.w.finish();
  if (!graph) return Error{graph.error().kind, name + ": " + graph.error().message};
  if (graph->main().nodes.empty()) return bad_input(name + ": the network has no layers that run");
  graph->origin.exporter = version.empty() ? "Keras" : "Keras " + printable(version);
  const std::string own = config->is_object() ? text_of(member(*config, "name")) : "";
  graph->name = printable(own.empty() ? std::filesystem::path(name).stem().string() : own);
  graph->warnings.insert(graph->warnings.begin(), kTimedAsPyTorch);
  return make_fixed_network(std::move(*graph));
}

std::string_view head_of(std::string_view text, std::size_t size) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || text[first] != '{' ? std::string_view{} : text.substr(first, size);
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

}  // namespace

bool is_keras_archive(const Source& source) {
  if (source.is_folder || !is_zip(source.bytes)) return false;
  const auto archive = ZipArchive::open(source.bytes, source.path.string());
  return archive && archive->find("config.json") != nullptr && archive->find("metadata.json") != nullptr;
}

bool is_keras_hdf5(const Source& source) { return !source.is_folder && is_hdf5(source.bytes); }

bool is_keras_json(const Source& source) {
  if (source.is_folder) return false;
  const std::string_view head = head_of(source.bytes, kMaxConfigBytes);
  if (has(head, "\"modelTopology\"")) return has(head, "\"class_name\"") && !has(head.substr(0, 256), "graph-model");
  const std::string_view start = head.substr(0, 1024);
  return has(start, "\"class_name\"") && has(head, "\"layers\"") &&
         (has(start, "\"Sequential\"") || has(start, "\"Functional\"") || has(start, "\"Model\""));
}

Result<std::unique_ptr<Network>> read_keras_archive_source(const Source& source) {
  const std::string name = source.path.string();
  FORERUN_TRY(ZipArchive archive, ZipArchive::open(source.bytes, name));
  const ZipEntry* config = archive.find("config.json");
  const ZipEntry* metadata = archive.find("metadata.json");
  if (config == nullptr) return bad_input(name + ": not a valid .keras file: it has no config.json");
  FORERUN_TRY(const ZipContent text, archive.content(*config));
  FORERUN_TRY(const Json model, parse_json_text(text.bytes(), name + ": config.json", kMaxConfigBytes));
  std::string version;
  if (metadata != nullptr) {
    FORERUN_TRY(const ZipContent about, archive.content(*metadata));
    FORERUN_TRY(const Json facts, parse_json_text(about.bytes(), name + ": metadata.json", kMaxConfigBytes));
    version = text_of(member(facts, "keras_version"));
  }
  return expand(model, version, name);
}

Result<std::unique_ptr<Network>> read_keras_hdf5_source(const Source& source) {
  const std::string name = source.path.string();
  auto config = read_hdf5_root_text(source.bytes, "model_config");
  if (!config) return Error{config.error().kind, name + ": " + config.error().message};
  if (!*config) {
    return bad_input(name +
                     ": an HDF5 file without a network's configuration (weights alone); give the .keras or .h5 file "
                     "that model.save() writes");
  }
  const auto version = read_hdf5_root_text(source.bytes, "keras_version");
  FORERUN_TRY(const Json model, parse_json_text(**config, name + ": model_config", kMaxConfigBytes));
  return expand(model, version && *version ? **version : "", name);
}

Result<std::unique_ptr<Network>> read_keras_json_source(const Source& source) {
  const std::string name = source.path.string();
  FORERUN_TRY(const Json document, parse_json_text(source.bytes, name, kMaxConfigBytes));
  const Json* topology = member(document, "modelTopology");
  const Json& holder = topology == nullptr ? document : *topology;
  const Json* config = member(holder, "model_config");
  return expand(config == nullptr ? holder : *config, text_of(member(holder, "keras_version")), name);
}

}  // namespace forerun
