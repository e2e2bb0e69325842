// Schemas of answers for the API's description, from their short form in data/api/schemas.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace forerun::server {

[[nodiscard]] nlohmann::ordered_json reference_to(std::string_view schema);
// Every schema of data/api/schemas.json, and "Estimates" by the table of metrics.
[[nodiscard]] nlohmann::ordered_json answer_schemas();
// A request that can be sent as it is; null where the operation has none.
[[nodiscard]] nlohmann::ordered_json example_of(std::string_view operation);

}  // namespace forerun::server
