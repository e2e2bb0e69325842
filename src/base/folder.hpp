// A folder as readers see it: on disk, or inside a zip or tar archive. Files are mapped, viewed in the archive or
// unpacked only when they are opened; weights that nobody opens are never read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct FolderFile {
  std::string name;  // relative, parts joined by '/', without ".."
  std::uint64_t size = 0;
};

// Bytes and what keeps them alive. Cheap to copy.
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(std::string_view view, std::shared_ptr<const void> keeper) : view_(view), keeper_(std::move(keeper)) {}
  explicit FileBytes(std::string text);
  [[nodiscard]] std::string_view view() const { return view_; }

 private:
  std::string_view view_;
  std::shared_ptr<const void> keeper_;
};

struct ArchiveLimits {
  std::size_t entries = 100'000;
  std::size_t name_bytes = 4096;
  std::uint64_t unpacked_bytes = std::uint64_t{16} << 30;  // of all files, as far as they have to be decompressed
  std::uint64_t ratio = 400;                               // unpacked to packed bytes, from `ratio_from` on
  std::uint64_t ratio_from = std::uint64_t{64} << 20;
};

// The files of an archive. Not thread-safe.
class ArchiveFiles {
 public:
  virtual ~ArchiveFiles() = default;
  [[nodiscard]] virtual const std::vector<FolderFile>& files() const = 0;  // sorted by name
  // The first `most` bytes of files()[index], or fewer where the file is shorter; the checksum of a whole file that was
  // unpacked is verified.
  virtual Result<FileBytes> open(std::size_t index, std::uint64_t most) = 0;
};

// zip, or tar, plain or compressed by gzip, bzip2, xz or zstd; a compressed file that holds no tar is one file.
[[nodiscard]] bool is_archive(std::string_view bytes);
// `what` names the archive in errors. `bytes` must outlive what is returned and every FileBytes from it.
Result<std::shared_ptr<ArchiveFiles>> open_archive(std::string_view bytes, const std::string& what,
                                                   const ArchiveLimits& limits = {});

class Folder {
 public:
  Folder() = default;                         // none: nothing may be looked at
  Folder(const std::filesystem::path& path);  // on disk; "" = none
  Folder(std::shared_ptr<ArchiveFiles> archive, std::filesystem::path shown);

  [[nodiscard]] bool available() const { return !path_.empty(); }
  [[nodiscard]] bool is_in_archive() const { return archive_ != nullptr; }
  // As messages show it; of an archive "net.zip/folder".
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;
  // Name of a file below the folder: relative, without "..", and no symbolic link that leads out of it.
  [[nodiscard]] bool holds(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::string_view name) const;  // nullopt: no such file
  [[nodiscard]] bool has(std::string_view name) const { return size_of(name).has_value(); }
  Result<FileBytes> open(std::string_view name) const;
  Result<FileBytes> head(std::string_view name, std::uint64_t most) const;
  [[nodiscard]] Folder below(std::string_view name) const;
  // All files below, sorted, hidden ones and those deeper than 8 folders left out; fails beyond 10,000.
  Result<std::vector<FolderFile>> list() const;
  // Files directly in the folder. At most 10,000.
  [[nodiscard]] std::vector<FolderFile> list_here() const;

 private:
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;  // in the archive

  std::filesystem::path path_;
  std::shared_ptr<ArchiveFiles> archive_;
  std::string prefix_;  // in the archive: "" or ending in '/'
};

}  // namespace forerun
