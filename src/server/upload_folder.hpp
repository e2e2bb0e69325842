// Uploads on disk while they are read: each in its own private folder, so that a model file cannot refer to another's
// content; removed with the object that owns it. The next server removes what a killed one left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace forerun::server {

// One file, or several in one folder; deleted with this value.
class UploadFile {
 public:
  UploadFile(UploadFile&& other) noexcept;
  UploadFile& operator=(UploadFile&&) = delete;
  UploadFile(const UploadFile&) = delete;
  ~UploadFile();

  Status append(std::string_view data);
  // Another file in the same folder; append() goes to it from here on. REQUIRES: `name` as for new_file().
  Status start_another(const std::string& name);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Of the file, or of the folder where there are several.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  friend class UploadFolder;
  UploadFile(int fd, std::string folder, std::string path)
      : fd_(fd), folder_(std::move(folder)), path_(std::move(path)) {}
  int fd_ = -1;
  std::string folder_;  // removed with all it holds
  std::string path_;
  std::uint64_t size_ = 0;
  bool is_folder_ = false;
};

// This process' folder below $TMPDIR (or /tmp), readable by its user alone; locked as long as the process lives.
class UploadFolder {
 public:
  // Also removes folders of processes that are gone.
  static Result<UploadFolder> create();
  UploadFolder(UploadFolder&& other) noexcept;
  UploadFolder& operator=(UploadFolder&&) = delete;
  UploadFolder(const UploadFolder&) = delete;
  ~UploadFolder();

  // REQUIRES: `name` has no slash and is neither empty nor "." nor "..".
  Result<UploadFile> new_file(const std::string& name);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  UploadFolder(int lock, std::string path) : lock_(lock), path_(std::move(path)) {}
  int lock_ = -1;
  std::string path_;
  std::uint64_t next_ = 1;
};

}  // namespace forerun::server
