// What a code point is, as regular expressions write it: \p{L}, \p{N}, \s.
#pragma once

#include <cstdint>

namespace forerun {

[[nodiscard]] bool is_letter(std::uint32_t code_point);
[[nodiscard]] bool is_number(std::uint32_t code_point);
[[nodiscard]] bool is_space(std::uint32_t code_point);

}  // namespace forerun
