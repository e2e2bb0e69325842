// Where the fields of a bundle lie; shared by its reader and writer. Numbers are little-endian, as on every machine we
// run on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bundle/bundle.hpp"

namespace forerun {

static_assert(std::endian::native == std::endian::little, "bundles are read in place");

inline constexpr std::string_view kBundleMagic = "FORERUN1";
inline constexpr std::size_t kVersionAt = 8;            // u32
inline constexpr std::size_t kSectionCountAt = 12;      // u32
inline constexpr std::size_t kFileSizeAt = 16;          // u64
inline constexpr std::size_t kManifestSizeAt = 24;      // u64
inline constexpr std::size_t kManifestChecksumAt = 32;  // u32
inline constexpr std::size_t kHeadChecksumAt = 36;      // u32, over bytes 0 to 35 and the table
inline constexpr std::size_t kBundleHeaderBytes = 40;

// A row of the table: name (NUL-filled), offset u64, size u64, checksum u32, reserved u32.
inline constexpr std::size_t kRowOffsetAt = kMaxSectionName + 1;
inline constexpr std::size_t kRowSizeAt = kRowOffsetAt + 8;
inline constexpr std::size_t kRowChecksumAt = kRowSizeAt + 8;
inline constexpr std::size_t kTableRowBytes = kRowChecksumAt + 8;

constexpr std::size_t aligned_up(std::size_t at) {
  return (at + kBundleAlignment - 1) / kBundleAlignment * kBundleAlignment;
}

// CRC-32 (as zlib and PNG use it), continued from `start`.
[[nodiscard]] std::uint32_t bundle_checksum(std::string_view bytes, std::uint32_t start);

// Deepest nesting of brackets outside of strings: a manifest that nests without end must not exhaust the stack.
inline constexpr int kMaxManifestNesting = 64;
[[nodiscard]] int nesting_of(std::string_view json);

}  // namespace forerun
