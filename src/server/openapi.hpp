// The API's description, generated from the one table of options.
#pragma once

#include <string>

namespace forerun::server {

// OpenAPI 3.1 as JSON.
[[nodiscard]] std::string openapi_json();

}  // namespace forerun::server
