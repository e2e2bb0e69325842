// Folders are claimed with flock(): a lock that can be taken belongs to no living process.
#include "server/upload_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace forerun::server {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "forerun-uploads-";

Error failure(std::string_view what, const std::string& where) {
  return {ErrorKind::Io, fmt::format("cannot {} {}: {}", what, where, std::strerror(errno))};
}

// The folder's lock, or -1 when it is taken or the folder is not ours.
int try_lock(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat facts {};
  if (::fstat(fd, &facts) == 0 && facts.st_uid == ::geteuid() && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

void remove_abandoned(const std::string& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const int lock = try_lock(path);
    if (lock < 0) continue;
    fs::remove_all(path, ignored);
    ::close(lock);
  }
}

}  // namespace

Result<UploadFolder> UploadFolder::create() {
  const char* configured = std::getenv("TMPDIR");
  const std::string parent = configured != nullptr && *configured != '\0' ? configured : "/tmp";
  remove_abandoned(parent);
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = fmt::format("{}/{}XXXXXX", parent, kPrefix);
    if (::mkdtemp(path.data()) == nullptr) return failure("keep uploads in", parent);
    const int lock = try_lock(path);
    struct stat facts {};
    // Another server that is starting may have taken the new folder for an abandoned one.
    if (lock >= 0 && ::fstat(lock, &facts) == 0 && facts.st_nlink > 0) return UploadFolder(lock, std::move(path));
    if (lock >= 0) ::close(lock);
  }
  return Error{ErrorKind::Io, fmt::format("cannot keep uploads in {}", parent)};
}

UploadFolder::UploadFolder(UploadFolder&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)), path_(std::move(other.path_)), next_(other.next_) {}

UploadFolder::~UploadFolder() {
  if (lock_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

Result<UploadFile> UploadFolder::new_file(const std::string& name) {
  // A configuration may be named after its folder: "upload" reads better than a number.
  const std::string outer = fmt::format("{}/{}", path_, next_++);
  const std::string inner = outer + "/upload";
  if (::mkdir(outer.c_str(), S_IRWXU) != 0) return failure("make the folder", outer);
  if (::mkdir(inner.c_str(), S_IRWXU) != 0) return failure("make the folder", inner);
  std::string path = inner + "/" + name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    const Error error = failure("keep the upload", name);
    std::error_code ignored;
    fs::remove_all(outer, ignored);
    return error;
  }
  return UploadFile(fd, outer, std::move(path));
}

Status UploadFile::start_another(const std::string& name) {
  if (!is_folder_) path_.erase(path_.rfind('/'));
  is_folder_ = true;
  const std::string path = path_ + "/" + name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0 && errno == EEXIST) return bad_input(fmt::format("two files are called {}", name));
  if (fd < 0) return failure("keep the upload", name);
  ::close(std::exchange(fd_, fd));
  return ok();
}

UploadFile::UploadFile(UploadFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      folder_(std::move(other.folder_)),
      path_(std::move(other.path_)),
      size_(other.size_),
      is_folder_(other.is_folder_) {}

UploadFile::~UploadFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Status UploadFile::append(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error{ErrorKind::Io, fmt::format("cannot keep the upload: {}", std::strerror(errno))};
    data.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return ok();
}

}  // namespace forerun::server
