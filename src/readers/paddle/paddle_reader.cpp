#include "readers/paddle/paddle_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "readers/paddle/program.hpp"
#include "readers/printable.hpp"
#include "readers/protobuf.hpp"

namespace forerun {
namespace {

using protobuf::bytes;
using protobuf::Message;
using protobuf::varint;

constexpr const char* kTimedAsPyTorch =
    "PaddlePaddle's operators are timed as PyTorch would run them, not as Paddle's own kernels";

// A ProgramDesc holds blocks (1), a version (4) and a map of operator versions (5), and its first block a number (1),
// its parent's (2), variables (3) and operators (4).
bool looks_like_program(std::string_view file) {
  bool has_block = false;
  Message message(file);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        Message block = message.get_message();
        bool numbered = false, has_parent = false, has_content = false;
        while (block.next()) {
          switch (block.tag_and_type()) {
            case varint(1): numbered = true; break;
            case varint(2): has_parent = true; break;
            case bytes(3):
            case bytes(4): has_content = true; break;
            case varint(5): break;
            default: return false;
          }
          block.skip();
        }
        if (!numbered || !has_parent || !has_content) return false;
        has_block = true;
        continue;
      }
      case bytes(4):
      case bytes(5): break;
      default: return false;
    }
    message.skip();
  }
  return has_block;
}

Result<Graph> read_graph(std::string_view file, bool is_pir) {
  try {
    FORERUN_TRY(const paddle::Program program, is_pir ? paddle::read_pir(file) : paddle::read_program_desc(file));
    return paddle::translate(program);
  } catch (const protozero::exception& error) {
    return bad_input("not a valid PaddlePaddle program: cut short or damaged (" + std::string(error.what()) + ")");
  }
}

// The program in a folder; two of them are a choice the user has to make.
Result<std::string> find_program(const Folder& folder) {
  std::vector<std::filesystem::path> found;
  for (const FolderFile& file : folder.list_here()) {
    const std::filesystem::path path = file.name;
    std::filesystem::path weights = path;
    weights.replace_extension(".pdiparams");
    const bool is_legacy = path.extension() == ".pdmodel" || path.filename() == "__model__";
    if (is_legacy || (path.extension() == ".json" && folder.has(weights.string()))) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  const std::string where = folder.path().string();
  if (found.empty()) return not_found(where + ": no PaddlePaddle program in this folder");
  if (found.size() > 1 && found[0].stem() != found[1].stem()) {
    return bad_input(where + ": several PaddlePaddle programs in this folder (" + in_quotes(found[0].string()) + ", " +
                     in_quotes(found[1].string()) + "); name one of them");
  }
  return found[0].string();
}

bool starts_as_pir(std::string_view text) {
  std::size_t at = text.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos || text[at] != '{') return false;
  const std::string_view head = text.substr(at, 4096);
  return head.find("\"base_code\"") != std::string_view::npos && head.find("\"pir\"") != std::string_view::npos;
}

}  // namespace

bool is_paddle_program(const Source& source) {
  try {
    return !source.is_folder && looks_like_program(source.bytes);
  } catch (const protozero::exception&) {
    return false;
  }
}

bool is_paddle_pir(const Source& source) { return !source.is_folder && starts_as_pir(source.bytes); }

bool is_paddle_folder(const Source& source) {
  if (!source.is_folder) return false;
  const auto program = find_program(source.folder);
  return program || program.error().kind == ErrorKind::BadInput;
}

bool is_paddle_weights(const Source& source) {
  return !source.is_folder && (source.path.extension() == ".pdiparams" || source.path.extension() == ".pdparams");
}

Result<std::unique_ptr<Network>> read_paddle(std::string_view file, const std::string& name, bool is_pir) {
  Result<Graph> graph = read_graph(file, is_pir);
  if (!graph) return Error{graph.error().kind, name + ": " + graph.error().message};
  if (graph->main().nodes.empty())
    return bad_input(name + ": the program has no operators; save the network with paddle.jit.save and an input_spec");
  graph->name = printable(std::filesystem::path(name).stem().string());
  graph->warnings.insert(graph->warnings.begin(), kTimedAsPyTorch);
  return make_fixed_network(std::move(*graph));
}

Result<std::unique_ptr<Network>> read_paddle_program_source(const Source& source) {
  return read_paddle(source.bytes, source.path.string(), false);
}

Result<std::unique_ptr<Network>> read_paddle_pir_source(const Source& source) {
  return read_paddle(source.bytes, source.path.string(), true);
}

Result<std::unique_ptr<Network>> read_paddle_folder_source(const Source& source) {
  FORERUN_TRY(const std::string name, find_program(source.folder));
  FORERUN_TRY(const FileBytes file, source.folder.open(name));
  return read_paddle(file.view(), source.folder.path_of(name), name.ends_with(".json"));
}

Result<std::unique_ptr<Network>> read_paddle_weights_source(const Source& source) {
  return bad_input(source.path.string() +
                   ": PaddlePaddle weights without their program; give the .pdmodel or .json beside it, which "
                   "paddle.jit.save writes");
}

}  // namespace forerun
