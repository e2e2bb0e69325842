// SHA-256 (FIPS 180-4): names files that are too large to keep.
#pragma once

#include <string>
#include <string_view>

namespace forerun {

// 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace forerun
