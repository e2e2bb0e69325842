// The two kinds of archives behind open_archive().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/folder.hpp"

namespace forerun {

Result<std::shared_ptr<ArchiveFiles>> open_zip_files(std::string_view bytes, const std::string& what,
                                                     const ArchiveLimits& limits);
// tar, plain or compressed, or one compressed file. Plain archives are indexed without reading their files; a
// compressed one is decompressed once to list it, and once more for each large file that is opened.
Result<std::shared_ptr<ArchiveFiles>> open_tar_files(std::string_view bytes, const std::string& what,
                                                     const ArchiveLimits& limits);
[[nodiscard]] bool is_tar(std::string_view bytes);         // plain
[[nodiscard]] bool is_compressed(std::string_view bytes);  // gzip, bzip2, xz or zstd

// "./a//b" as "a/b", printable; "" where a name is absolute, leads out of the archive or is no name.
[[nodiscard]] std::string plain_name(std::string_view stored);

inline constexpr std::uint64_t kInMemoryBytes = std::uint64_t{16} << 20;  // larger files are spooled to disk

}  // namespace forerun
