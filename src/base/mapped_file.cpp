#include "base/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/open_regular.hpp"

namespace forerun {

Result<MappedFile> MappedFile::open(const std::string& path) {
  FORERUN_TRY(const int descriptor, open_regular(path));
  return adopt(descriptor, path);
}

Result<MappedFile> MappedFile::adopt(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return bad_input(path + ": not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    ::close(descriptor);
    return MappedFile(nullptr, 0);
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (address == MAP_FAILED) return Error{ErrorKind::Io, path + ": cannot map: " + std::strerror(errno)};
  ::madvise(address, size, MADV_RANDOM);  // no read-ahead into weights
  return MappedFile(address, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace forerun
