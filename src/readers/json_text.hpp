// JSON from untrusted files: parsed without exceptions, limited in size and nesting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.hpp"

namespace forerun {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;  // the largest checkpoint indexes are a few MiB
inline constexpr int kMaxJsonDepth = 64;

// `what` names the text in the error, e.g. the file's path.
Result<Json> parse_json_text(std::string_view text, const std::string& what, std::size_t max_bytes = kMaxJsonBytes);

}  // namespace forerun
