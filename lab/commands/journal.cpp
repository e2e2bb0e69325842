#include "commands/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "store/measurement_json.hpp"

namespace forerun {

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return Error{ErrorKind::Io, fmt::format("{}: cannot open: {}", path, std::strerror(errno))};
  std::unique_ptr<Journal> journal(new Journal(descriptor, path));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return bad_input(path + ": not a regular file");
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return bad_input(path + ": another campaign is writing this file");
  FORERUN_CHECK(journal->load());
  return journal;
}

Journal::~Journal() { ::close(descriptor_); }

Status Journal::load() {
  std::string text;
  std::array<char, 65536> chunk{};
  for (ssize_t got = ::read(descriptor_, chunk.data(), chunk.size()); got != 0;
       got = ::read(descriptor_, chunk.data(), chunk.size())) {
    if (got < 0) return Error{ErrorKind::Io, fmt::format("{}: cannot read: {}", path_, std::strerror(errno))};
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const std::size_t last = text.rfind('\n');
  text.resize(last == std::string::npos ? 0 : last + 1);
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    auto row = measurement_from_json(rest.substr(0, end));
    if (!row)
      return bad_input(fmt::format("{}: line {}: {} (not a file of this program?)", path_, line, row.error().message));
    earlier_rows_.push_back(std::move(*row));
    rest.remove_prefix(end + 1);
  }
  size_ = static_cast<long>(text.size());
  if (::ftruncate(descriptor_, size_) != 0 || ::lseek(descriptor_, size_, SEEK_SET) != size_) {
    return Error{ErrorKind::Io, fmt::format("{}: cannot write: {}", path_, std::strerror(errno))};
  }
  return ok();
}

Status Journal::append(const Measurement& row) {
  const std::string line = measurement_to_json(row) + "\n";
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t step = ::write(descriptor_, line.data() + written, line.size() - written);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) break;
    written += static_cast<std::size_t>(step);
  }
  if (written < line.size() || (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)) {
    const int reason = errno;
    if (::ftruncate(descriptor_, size_) == 0) ::lseek(descriptor_, size_, SEEK_SET);
    return Error{ErrorKind::Io, fmt::format("{}: cannot write: {}", path_, std::strerror(reason))};
  }
  size_ += static_cast<long>(line.size());
  return ok();
}

}  // namespace forerun
