// The table of formats. A new reader is a folder and one row here.
#include "readers/reader.hpp"

#include <array>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include "base/mapped_file.hpp"
#include "readers/collection.hpp"
#include "readers/diffusers/diffusers_reader.hpp"
#include "readers/foreign/foreign_formats.hpp"
#include "readers/format.hpp"
#include "readers/gguf/gguf_reader.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/keras/keras_reader.hpp"
#include "readers/onnx/onnx_reader.hpp"
#include "readers/paddle/paddle_reader.hpp"
#include "readers/safetensors/safetensors_reader.hpp"
#include "readers/spaces/spaces_reader.hpp"
#include "readers/tensorflow/tensorflow_reader.hpp"
#include "readers/torch/torch_reader.hpp"

namespace forerun {
namespace {

// Tried in this order; formats with a magic number come before those that are only plausible.
constexpr std::array kFormats = {
    Format{.name = "GGUF", .extension = ".gguf", .matches = is_gguf, .read = read_gguf_source},
    Format{
        .name = "safetensors", .extension = ".safetensors", .matches = is_safetensors, .read = read_safetensors_source},
    Format{.name = "TensorFlow Lite", .extension = ".tflite", .matches = is_tflite, .read = read_tflite_source},
    Format{.name = "safetensors index",
           .extension = "",
           .matches = is_safetensors_index,
           .read = read_safetensors_index_source},
    Format{.name = "PaddlePaddle PIR", .extension = "", .matches = is_paddle_pir, .read = read_paddle_pir_source},
    Format{.name = "Keras", .extension = ".keras", .matches = is_keras_archive, .read = read_keras_archive_source},
    Format{.name = "Keras HDF5", .extension = ".h5", .matches = is_keras_hdf5, .read = read_keras_hdf5_source},
    Format{.name = "TensorFlow.js layers model",
           .extension = "",
           .matches = is_keras_json,
           .read = read_keras_json_source},
    Format{.name = "PyTorch exported program",
           .extension = ".pt2",
           .matches = is_exported_program,
           .read = read_exported_program_source},
    Format{.name = "TorchScript", .extension = ".jit", .matches = is_torch_script, .read = read_torch_script_source},
    Format{.name = "PyTorch weights", .extension = "", .matches = is_torch_pickle, .read = read_torch_pickle_source},
    Format{
        .name = "TensorFlow.js graph model", .extension = "", .matches = is_tfjs_graph, .read = read_tfjs_graph_source},
    Format{.name = "diffusion pipeline",
           .extension = "",
           .matches = is_diffusion_pipeline,
           .read = read_diffusion_pipeline_source},
    Format{.name = "network of a diffusion pipeline",
           .extension = "",
           .matches = is_diffusion_component,
           .read = read_diffusion_component_source},
    Format{.name = "GGUF repository", .extension = "", .matches = is_gguf_folder, .read = read_gguf_folder_source},
    Format{.name = "candidate of a search space",
           .extension = "",
           .matches = is_candidate_file,
           .read = read_candidate_source},
    Format{.name = "adapter folder", .extension = "", .matches = is_adapter, .read = read_adapter_source},
    Format{.name = "Hugging Face configuration",
           .extension = ".json",
           .matches = is_huggingface,
           .read = read_huggingface_source},
    Format{
        .name = "TensorFlow SavedModel", .extension = "", .matches = is_saved_model, .read = read_saved_model_source},
    Format{.name = "TensorFlow GraphDef", .extension = ".pb", .matches = is_graph_def, .read = read_graph_def_source},
    Format{
        .name = "PaddlePaddle folder", .extension = "", .matches = is_paddle_folder, .read = read_paddle_folder_source},
    Format{.name = "PaddlePaddle weights",
           .extension = "",
           .matches = is_paddle_weights,
           .read = read_paddle_weights_source},
    Format{.name = "ONNX", .extension = ".onnx", .matches = is_onnx, .read = read_onnx_source},
    Format{.name = "PaddlePaddle program",
           .extension = ".pdmodel",
           .matches = is_paddle_program,
           .read = read_paddle_program_source},
    Format{.name = "zip or tar archive", .extension = "", .matches = is_packed, .read = read_packed_source},
    Format{.name = "folder", .extension = "", .matches = is_collection, .read = read_collection_source},
};

class FixedNetwork final : public Network {
 public:
  explicit FixedNetwork(Graph graph) : graph_(std::move(graph)) {}
  [[nodiscard]] Result<Graph> expand(const Binding&, const CancelToken&) const override { return graph_; }

 private:
  Graph graph_;
};

const Format* find_by_content(const Source& source) {
  for (const Format& format : kFormats) {
    if (format.matches(source)) return &format;
  }
  return nullptr;
}

const Format* find_by_extension(const Source& source) {
  const std::string extension = source.path.extension().string();
  for (const Format& format : kFormats) {
    if (!source.is_folder && !extension.empty() && extension == format.extension) return &format;
  }
  return nullptr;
}

Error unknown_format(const Source& source) {
  std::string names;
  for (const Format& format : kFormats) names += (names.empty() ? "" : ", ") + std::string(format.name);
  const std::string what = source.is_folder       ? "no file in this folder is of a format"
                           : source.bytes.empty() ? "the file is empty, not a format"
                                                  : "not a format";
  return bad_input(source.path.string() + ": " + what + " Forerun reads (" + names + ")");
}

}  // namespace

std::unique_ptr<Network> make_fixed_network(Graph graph) { return std::make_unique<FixedNetwork>(std::move(graph)); }

bool matches_some_format(const Source& source) { return find_by_content(source) != nullptr; }

// Whatever a library throws becomes an error that names the source.
Result<std::unique_ptr<Network>> read_source(const Source& source) {
  try {
    const Format* format = find_by_content(source);
    if (format == nullptr) {
      if (std::optional<Error> refusal = refuse_foreign(source)) return *refusal;
      format = find_by_extension(source);
    }
    if (format == nullptr || (!source.is_folder && source.bytes.empty())) return unknown_format(source);
    return format->read(source);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::TooLarge, source.path.string() + ": does not fit in memory"};
  } catch (const std::exception& error) {
    return internal_error(source.path.string() + ": " + error.what());
  }
}

Result<std::unique_ptr<Network>> read_network(const std::string& path, bool stands_alone, const CancelToken& cancel) {
  Source source;
  source.path = path;
  source.cancel = cancel;
  std::error_code ignored;
  source.is_folder = std::filesystem::is_directory(source.path, ignored);
  std::optional<MappedFile> file;
  if (source.is_folder) {
    source.folder = Folder(source.path);
  } else {
    FORERUN_TRY(file, MappedFile::open(path));
    source.bytes = file->bytes();
    if (!stands_alone) source.folder = source.path.has_parent_path() ? source.path.parent_path() : ".";
  }
  return read_source(source);
}

Result<std::unique_ptr<Network>> read_network_bytes(std::string_view bytes, const std::string& name,
                                                    const CancelToken& cancel) {
  Source source;
  source.cancel = cancel;
  source.path = name;
  source.bytes = bytes;
  return read_source(source);
}

}  // namespace forerun
