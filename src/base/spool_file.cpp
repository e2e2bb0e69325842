#include "base/spool_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/mapped_file.hpp"

namespace forerun {
namespace {

Error failed(const std::string& what) {
  return {ErrorKind::Io, "cannot unpack the archive: " + what + ": " + std::strerror(errno) +
                             " (TMPDIR names the folder that is used)"};
}

}  // namespace

Result<SpoolFile> SpoolFile::create() {
  const char* configured = std::getenv("TMPDIR");
  std::string path = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  path += "/forerun-unpacked-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return failed(path);
  ::unlink(path.c_str());
  return SpoolFile(descriptor);
}

SpoolFile::SpoolFile(SpoolFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status SpoolFile::append(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("temporary file");
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok();
}

Result<FileBytes> SpoolFile::finish() {
  FORERUN_TRY(MappedFile file, MappedFile::adopt(std::exchange(descriptor_, -1), "temporary file"));
  auto kept = std::make_shared<const MappedFile>(std::move(file));
  return FileBytes(kept->bytes(), kept);
}

}  // namespace forerun
