// What a reader offers to the table in reader.cpp.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "readers/reader.hpp"

namespace forerun {

// MODEL as the user named it: a mapped file, or a folder (then `bytes` is empty).
struct Source {
  std::filesystem::path path;
  bool is_folder = false;
  bool stands_alone = false;  // nothing beside the file may be looked at
  CancelToken cancel;         // asked between thousands of nodes
  std::string_view bytes;     // the file's content; must not be kept after reading
};

struct Format {
  std::string_view name;           // as users know it; listed when nothing matches
  std::string_view extension;      // of files whose content is too damaged to be recognised, e.g. ".onnx"; "" = none
  bool (*matches)(const Source&);  // is the content of this format?
  Result<std::unique_ptr<Network>> (*read)(const Source&);
};

// A network whose graph is in the file: every expansion is a copy of it.
std::unique_ptr<Network> make_fixed_network(Graph graph);

}  // namespace forerun
