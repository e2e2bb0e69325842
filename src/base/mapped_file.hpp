// A read-only memory-mapped file. Pages that are never touched (weights) are never read from disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace forerun {

class MappedFile {
 public:
  // Fails on directories, missing or unreadable files; an empty file maps to an empty view.
  static Result<MappedFile> open(const std::string& path);
  // Maps an open file and closes the descriptor; `path` names it in errors.
  static Result<MappedFile> adopt(int descriptor, const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  MappedFile(void* address, std::size_t size) : address_(address), size_(size) {}
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace forerun
