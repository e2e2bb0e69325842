// The user's configuration folder: $XDG_CONFIG_HOME/forerun, else ~/.config/forerun; empty when neither is set.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace forerun {

inline std::filesystem::path user_folder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config != 0) {
    return std::filesystem::path(config) / "forerun";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) {
    return std::filesystem::path(home) / ".config" / "forerun";
  }
  return {};
}

}  // namespace forerun
