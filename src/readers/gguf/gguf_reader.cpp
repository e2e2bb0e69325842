#include "readers/gguf/gguf_reader.hpp"

#include <array>
#include <optional>

#include "base/checked.hpp"
#include "readers/gguf/gguf_config.hpp"
#include "readers/gguf/gguf_file.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

StoredWeights stored_weights(const GgufFile& file, const std::string& where) {
  StoredWeights weights;
  weights.where = where;
  for (const GgufTensor& tensor : file.tensors) {
    const std::string& name = tensor.stored.name;
    const bool is_bias = name.ends_with(".bias");
    std::string module = name.substr(0, name.rfind('.'));
    // Gate and up of stacked experts are two tensors here and one parameter in the graph.
    for (const std::string_view part : {"ffn_gate_exps", "ffn_up_exps"}) {
      if (module.ends_with(part)) module = module.substr(0, module.size() - part.size()) + "ffn_gate_up_exps";
    }
    StoredModule& stored = weights.modules[module];
    if (is_bias) {
      stored.bias_bytes = checked_add(stored.bias_bytes, tensor.stored.bytes);
      continue;
    }
    stored.bytes = checked_add(stored.bytes, tensor.stored.bytes);
    stored.elements = checked_add(stored.elements, checked_product(tensor.stored.shape));
    stored.dtype = tensor.stored.dtype;
  }
  const bool norms_outputs = weights.modules.contains("blk.0.post_attention_norm");
  weights.rename = [norms_outputs](std::string_view module) { return gguf_name(module, norms_outputs); };
  return weights;
}

}  // namespace

bool is_gguf(const Source& source) { return !source.is_folder && source.bytes.substr(0, 4) == "GGUF"; }

namespace {

// nullopt where there are several, or other weights.
std::optional<std::string> only_gguf_of(const Folder& folder) {
  std::optional<std::string> found;
  for (const FolderFile& file : folder.list_here()) {
    if (file.name.ends_with(".safetensors") || (found && file.name.ends_with(".gguf"))) return std::nullopt;
    if (file.name.ends_with(".gguf")) found = file.name;
  }
  return found;
}

}  // namespace

bool is_gguf_folder(const Source& source) {
  return source.is_folder && source.folder.has("config.json") && only_gguf_of(source.folder).has_value();
}

Result<std::unique_ptr<Network>> read_gguf_folder_source(const Source& source) {
  const std::string name = only_gguf_of(source.folder).value_or("");
  FORERUN_TRY(const FileBytes file, source.folder.open(name));
  return read_gguf_source({source.folder.path_of(name), false, source.folder, file.view()});
}

Result<std::unique_ptr<Network>> read_gguf_source(const Source& source) {
  const std::string path = source.path.string();
  FORERUN_TRY(const GgufFile file, parse_gguf(source.bytes, path));
  const std::string architecture = file.text("general.architecture");
  if (file.tensors.empty()) {
    return bad_input(path + ": holds the vocabulary of a " +
                     printable(architecture.empty() ? "network" : architecture) +
                     " and no tensors: there is no network in it to tell about");
  }
  const std::string name = source.path.stem().string();
  std::vector<std::string> notes;
  if (file.is_truncated) notes.emplace_back("the file ends before its last tensor does: sizes are the header's");
  if (file.integer("split.count", 1) > 1) {
    notes.push_back("one of " + std::to_string(file.integer("split.count", 1)) +
                    " files: weights in the others follow the precision");
  }
  std::string reason;
  std::optional<Json> config = config_of_gguf(file, reason);
  if (!config) {
    std::vector<StoredTensor> tensors;
    for (const GgufTensor& tensor : file.tensors) tensors.push_back(tensor.stored);
    Graph graph = graph_of_weights(tensors, name, "gguf");
    graph.warnings.push_back(reason);
    graph.warnings.insert(graph.warnings.end(), notes.begin(), notes.end());
    FORERUN_CHECK(verify(graph));
    return make_fixed_network(std::move(graph));
  }
  return make_huggingface_network(std::move(*config), name, "gguf", stored_weights(file, "the file"), std::move(notes));
}

}  // namespace forerun
