// Unknown commands and options, with the ones they are likely to mean.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace forerun {

[[nodiscard]] std::optional<Error> find_misspelled(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace forerun
