// What this program is: its version and the bundles inside it, by the checksum of their heads, which covers every
// section.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forerun {

struct BundleId {
  std::string name;      // file name without extension
  std::string checksum;  // eight hexadecimal digits
};

[[nodiscard]] std::string_view program_version();
[[nodiscard]] std::vector<BundleId> shipped_bundles();
// "forerun 0.1.0 (bundles: gnn-kernels 1a2b3c4d, trees 5e6f7a8b)"
[[nodiscard]] std::string version_line();

}  // namespace forerun
