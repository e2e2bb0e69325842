// Any bytes are a bundle or an error, never a crash. Checksums are also repaired so that what lies behind them is
// reached.
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "bundle/bundle.hpp"
#include "bundle/layout.hpp"

namespace {

void use(std::string_view bytes) {
  const auto bundle = forerun::Bundle::from_bytes(bytes, "fuzz");
  if (!bundle) return;
  for (const std::string& name : bundle->section_names()) (void)bundle->section(name);
  (void)bundle->part("conformal");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  use(bytes);
  if (size < forerun::kBundleHeaderBytes) return 0;
  const auto put = [&bytes](std::size_t at, std::uint32_t value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  std::uint32_t count = 0;
  std::uint64_t manifest_size = 0;
  const std::uint64_t file_size = size;
  std::memcpy(&count, bytes.data() + forerun::kSectionCountAt, sizeof count);
  std::memcpy(&manifest_size, bytes.data() + forerun::kManifestSizeAt, sizeof manifest_size);
  std::memcpy(bytes.data() + forerun::kFileSizeAt, &file_size, sizeof file_size);
  std::memcpy(bytes.data(), forerun::kBundleMagic.data(), forerun::kBundleMagic.size());
  put(forerun::kVersionAt, forerun::kBundleVersion);
  const std::string_view view = bytes;
  const std::size_t table = count * forerun::kTableRowBytes;
  if (count > forerun::kMaxBundleSections || forerun::kBundleHeaderBytes + table > size) return 0;
  const std::size_t manifest_at = forerun::kBundleHeaderBytes + table;
  if (manifest_size > size - manifest_at) return 0;
  put(forerun::kManifestChecksumAt, forerun::bundle_checksum(view.substr(manifest_at, manifest_size), 0));
  const std::uint32_t head = forerun::bundle_checksum(view.substr(0, forerun::kHeadChecksumAt), 0);
  put(forerun::kHeadChecksumAt, forerun::bundle_checksum(view.substr(forerun::kBundleHeaderBytes, table), head));
  use(bytes);
  return 0;
}
