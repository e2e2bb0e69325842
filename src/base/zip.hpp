// Reads zip archives in memory: PyTorch's, Keras's and TensorFlow's files, and folders that users packed. Entries kept
// as they are (weights) are views of the mapped file and never read; compressed ones are inflated within limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct ZipLimits {
  std::size_t entries = 1'000'000;
  std::size_t name_bytes = 4096;
  std::uint64_t content_bytes = std::uint64_t{256} << 20;   // of one entry that is read
  std::uint64_t inflated_bytes = std::uint64_t{512} << 20;  // of all entries that are inflated
  std::uint64_t ratio = 400;  // inflated to compressed bytes, of entries that inflate to more than 1 MiB
};

struct ZipEntry {
  std::string name;  // as stored: parts joined by '/', relative, without ".."; folders are left out
  std::uint64_t size = 0;
  std::uint64_t packed_size = 0;
  std::uint64_t header = 0;  // offset of its local header
  std::uint32_t crc = 0;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
};

// An entry's bytes: a view of the archive, or inflated and owned.
class ZipContent {
 public:
  explicit ZipContent(std::string_view view) : view_(view) {}
  explicit ZipContent(std::string owned) : owned_(std::move(owned)), is_owned_(true) {}
  // Valid as long as this object and the archive's bytes are.
  [[nodiscard]] std::string_view bytes() const { return is_owned_ ? std::string_view(owned_) : view_; }

 private:
  std::string owned_;
  std::string_view view_;
  bool is_owned_ = false;
};

class ZipArchive {
 public:
  // Reads the directory alone. `bytes` must outlive the archive; `what` names the archive in errors.
  static Result<ZipArchive> open(std::string_view bytes, std::string what, const ZipLimits& limits = {});

  [[nodiscard]] const std::vector<ZipEntry>& entries() const { return entries_; }
  [[nodiscard]] const ZipEntry* find(std::string_view name) const;

  // The entry's bytes, their checksum verified. Not thread-safe: it counts what was inflated.
  Result<ZipContent> content(const ZipEntry& entry);
  // Hands the first `most` bytes on in pieces; the checksum of a whole entry is verified.
  Status unpack(const ZipEntry& entry, std::uint64_t most, const std::function<Status(std::string_view)>& take) const;
  // Where the bytes of an entry that is not compressed stand in the archive; nothing of them is read.
  [[nodiscard]] Result<std::string_view> stored(const ZipEntry& entry) const;

 private:
  ZipArchive(std::string_view bytes, std::string what, const ZipLimits& limits)
      : bytes_(bytes), what_(std::move(what)), limits_(limits) {}

  Status read_directory();
  Result<ZipEntry> read_entry(std::uint64_t& position, std::uint64_t end) const;
  [[nodiscard]] Result<std::string_view> packed(const ZipEntry& entry) const;
  [[nodiscard]] Status check_readable(const ZipEntry& entry) const;
  Result<std::string> inflate(const ZipEntry& entry, std::string_view packed);
  [[nodiscard]] Error wrong(const std::string& what) const;
  [[nodiscard]] Error too_large(const std::string& what) const;

  std::string_view bytes_;
  std::string what_;
  ZipLimits limits_;
  std::uint64_t inflated_ = 0;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // of the first entry of a name
};

// Whether the bytes start with a zip archive's signature.
[[nodiscard]] bool is_zip(std::string_view bytes);

}  // namespace forerun
