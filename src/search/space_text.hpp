// The text of a search space: JSON, or the part of YAML that such files need.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.hpp"

namespace forerun {

// YAML: mappings and lists by indentation, [a, b] and {a: b} on one line, plain and quoted scalars, comments. Anchors,
// tags, multi-line scalars and several documents are refused with their line. `what` opens every message.
Result<nlohmann::ordered_json> parse_space_text(std::string_view text, const std::string& what);

}  // namespace forerun
