// Reads files that may be compressed: plain, gzip or xz, told apart by their first bytes, decoded as a stream.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace forerun {

// Bytes in order. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `size` bytes and returns how many; 0 only at the end.
  [[nodiscard]] virtual Result<std::size_t> read(char* buffer, std::size_t size) = 0;
};

// Decompresses on the fly. A truncated or damaged stream is an error when the damage is reached, never a silent end.
Result<std::unique_ptr<ByteSource>> open_compressed(const std::string& path);

// A source over text already in memory.
std::unique_ptr<ByteSource> make_memory_source(std::string text);

// The whole content; fails with TooLarge when it decodes to more than `limit` bytes.
Result<std::string> read_compressed(const std::string& path, std::size_t limit);

}  // namespace forerun
