// Whole text files.
#pragma once

#include <string>

#include "base/result.hpp"

namespace forerun {

Result<std::string> read_text_file(const std::string& path);
// Replaces the file atomically, through a temporary file in the same folder.
Status write_text_file(const std::string& path, const std::string& text);

}  // namespace forerun
