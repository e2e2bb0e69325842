#include "base/text_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/open_regular.hpp"

namespace forerun {

Result<std::string> read_text_file(const std::string& path) {
  FORERUN_TRY(const int descriptor, open_regular(path));
  std::string text;
  std::array<char, 1 << 16> buffer;
  ssize_t size = 0;
  while ((size = ::read(descriptor, buffer.data(), buffer.size())) > 0) text.append(buffer.data(), std::size_t(size));
  const int reason = errno;
  ::close(descriptor);
  if (size < 0) return Error{ErrorKind::Io, path + ": cannot read: " + std::strerror(reason)};
  return text;
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
