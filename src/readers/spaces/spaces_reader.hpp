// Candidates of an architecture search, described in a line of JSON: {"model_type": "nasbench201", "operations": […]}.
// Their graphs are built here, without a framework.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "readers/format.hpp"
#include "readers/json_text.hpp"
#include "readers/spaces/space.hpp"

namespace forerun {

[[nodiscard]] std::span<const spaces::Space* const> search_spaces();
[[nodiscard]] const spaces::Space* find_search_space(std::string_view model_type);

// The candidate that a description names; `name` opens every message. NAS-Bench-201's cells may also be written as
// their authors do: "cell": "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|". REQUIRES: is_candidate(description)
Result<std::unique_ptr<Network>> make_candidate(const Json& description, const std::string& name);
[[nodiscard]] bool is_candidate(const Json& description);

[[nodiscard]] bool is_candidate_file(const Source& source);
Result<std::unique_ptr<Network>> read_candidate_source(const Source& source);

}  // namespace forerun
