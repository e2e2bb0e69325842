// Opens regular files only: a pipe would block, and opening a device may do something to it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace forerun {

// A descriptor for reading, which the caller closes. Errors: missing or unreadable, not a regular file.
Result<int> open_regular(const std::string& path);

}  // namespace forerun
