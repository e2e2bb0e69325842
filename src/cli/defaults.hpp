// Defaults of a user's own: options by their JSON keys in config.json of the user's folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace forerun {

// Values as on the command line, by option; a flag has one empty value. Empty without a file; an error names the file
// and what in it is not an option.
Result<std::map<std::string, std::vector<std::string>>> read_defaults();

}  // namespace forerun
