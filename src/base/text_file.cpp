#include "base/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace forerun {

Result<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  // An empty file sets failbit on `text` alone.
  if (!file) return Error{ErrorKind::Io, path + ": cannot read"};
  return text.str();
}

Status write_text_file(const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) is_written = std::fclose(file) == 0 && is_written;
  if (is_written && std::rename(partial.c_str(), path.c_str()) == 0) return ok();
  const int reason = errno;
  std::remove(partial.c_str());
  return Error{ErrorKind::Io, fmt::format("{}: cannot write: {}", path, std::strerror(reason))};
}

}  // namespace forerun
