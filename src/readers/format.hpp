// What a reader offers to the table in reader.cpp.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/folder.hpp"
#include "readers/reader.hpp"

namespace forerun {

// MODEL as the user named it, or as it was found in a folder or an archive: a file, or a folder (then `bytes` is
// empty).
struct Source {
  std::filesystem::path path;  // as messages show it
  bool is_folder = false;
  Folder folder = {};      // the folder itself, or that around the file; none: nothing beside the file may be looked at
  std::string_view bytes;  // the file's content; must not be kept after reading
  CancelToken cancel = {};  // asked between thousands of nodes
};

struct Format {
  std::string_view name;           // as users know it; listed when nothing matches
  std::string_view extension;      // of files whose content is too damaged to be recognised, e.g. ".onnx"; "" = none
  bool (*matches)(const Source&);  // is the content of this format?
  Result<std::unique_ptr<Network>> (*read)(const Source&);
};

// Reads a file or folder of any format of the table in reader.cpp.
Result<std::unique_ptr<Network>> read_source(const Source& source);

// Does the content of a file belong to a format?
[[nodiscard]] bool matches_some_format(const Source& source);

// A network whose graph is in the file: every expansion is a copy of it.
std::unique_ptr<Network> make_fixed_network(Graph graph);

}  // namespace forerun
