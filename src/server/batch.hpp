// Many questions in one body: a JSON request per line, an answer per line in the same order.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace forerun::server {

inline constexpr std::string_view kLinesType = "application/x-ndjson";
inline constexpr std::size_t kMostLines = 1000;

// Answers every line of `body` that is not blank, on all cores. A line that fails becomes
// {"error": {"message", "kind", "line"}}, as `forerun predict -` writes it; the "id" of a line stands in either.
// REQUIRES: ask() may run in several threads at once. Errors: too many lines, or none.
Result<std::string> answer_lines(std::string_view body,
                                 const std::function<Result<std::string>(std::string_view)>& ask);

}  // namespace forerun::server
