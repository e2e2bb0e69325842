// Whole text files.
#pragma once

#include <string>

#include "base/result.hpp"

namespace forerun {

Result<std::string> read_text_file(const std::string& path);
// Writes the whole file or leaves the old one: through a temporary file beside it.
Status write_text_file(const std::string& path, const std::string& text);

}  // namespace forerun
