// A private file on disk without a name: it disappears with this value, and also when the process is killed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace forerun::server {

class TempFile {
 public:
  // In $TMPDIR, or /tmp where that is not set.
  static Result<TempFile> create();

  TempFile(TempFile&& other) noexcept;
  TempFile& operator=(TempFile&& other) noexcept;
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile();

  Status append(std::string_view data);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // A path that opens the file from within this process while this value lives.
  [[nodiscard]] std::string path() const;

 private:
  explicit TempFile(int fd) : fd_(fd) {}
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace forerun::server
