// Data files compiled into the program: forerun_embed() in cmake/embed.cmake defines the functions that return them.
#pragma once

#include <string_view>

namespace forerun {

struct EmbeddedFile {
  std::string_view name;   // file name without its folder, e.g. "h200-sxm.json"
  std::string_view bytes;  // the whole file; a NUL follows it
};

}  // namespace forerun
