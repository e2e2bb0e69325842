// Keys that stand twice in one JSON object: parsers keep one of them and say nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forerun {

// The first key that an object of the text, at most `depth` levels deep, has twice. Keys are compared as written.
// REQUIRES: `text` is valid JSON.
[[nodiscard]] std::optional<std::string> find_duplicate_key(std::string_view text, std::size_t depth);

}  // namespace forerun
