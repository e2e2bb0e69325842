// Compressed files and tar archives through libarchive: plain, gzip or xz, recognised by their first bytes and decoded
// as a stream.
#pragma once

#include <cstddef>
#include <functional>
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

struct TarMember {
  std::string name;  // as stored, without a leading "./"; may hold "..": never use it as a path to write to
  std::string bytes;
};

struct TarLimits {
  std::size_t member_bytes = std::size_t{256} << 20;
  std::size_t members = 1'000'000;
};

// Calls `visit` for each regular file of a tar archive (ustar, GNU or pax), in order; an error of `visit` ends the walk
// and is returned. Folders, links and devices are skipped.
Status visit_tar(const std::string& path, const std::function<Status(TarMember)>& visit, const TarLimits& limits = {});

}  // namespace forerun
