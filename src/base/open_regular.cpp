#include "base/open_regular.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace forerun {

Result<int> open_regular(const std::string& path) {
  const auto failed = [&path](int reason) {
    const ErrorKind kind = reason == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
    return Error{kind, path + ": cannot open: " + std::strerror(reason)};
  };
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return failed(errno);
  if (!S_ISREG(status.st_mode)) return bad_input(path + ": not a regular file");
  // The path may name something else by now: O_NONBLOCK keeps a pipe from blocking, fstat looks at what was opened.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed(errno);
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return bad_input(path + ": not a regular file");
  }
  return descriptor;
}

}  // namespace forerun
