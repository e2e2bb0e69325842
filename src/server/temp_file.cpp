// Uploads on disk: O_TMPFILE where the file system has it, else a file unlinked as soon as it is open.
#include "server/temp_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace forerun::server {

Result<TempFile> TempFile::create() {
  const char* configured = std::getenv("TMPDIR");
  const std::string folder = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    std::string name = folder + "/forerun-XXXXXX";
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd >= 0) ::unlink(name.c_str());
  }
  if (fd < 0) return Error{ErrorKind::Io, fmt::format("cannot keep the upload in {}: {}", folder, std::strerror(errno))};
  return TempFile(fd);
}

TempFile::TempFile(TempFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(std::exchange(other.size_, 0)) {}

TempFile& TempFile::operator=(TempFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

TempFile::~TempFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status TempFile::append(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error{ErrorKind::Io, fmt::format("cannot keep the upload: {}", std::strerror(errno))};
    data.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return ok();
}

std::string TempFile::path() const { return fmt::format("/proc/self/fd/{}", fd_); }

}  // namespace forerun::server
