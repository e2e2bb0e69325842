#include "service/version.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <span>

#include "base/embedded.hpp"
#include "bundle/layout.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_bundles();

std::string_view program_version() { return FORERUN_VERSION; }

std::vector<BundleId> shipped_bundles() {
  std::vector<BundleId> ids;
  for (const EmbeddedFile& file : embedded_bundles()) {
    if (file.bytes.size() < kBundleHeaderBytes) continue;
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, file.bytes.data() + kHeadChecksumAt, sizeof checksum);
    ids.push_back({std::string(file.name.substr(0, file.name.rfind('.'))), fmt::format("{:08x}", checksum)});
  }
  return ids;
}

std::string version_line() {
  std::vector<std::string> bundles;
  for (const BundleId& id : shipped_bundles()) bundles.push_back(id.name + " " + id.checksum);
  return fmt::format("forerun {} (bundles: {})", program_version(), fmt::join(bundles, ", "));
}

}  // namespace forerun
