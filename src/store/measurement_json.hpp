// A measurement as one JSON object: the store's text columns, the JSON-lines files and the tests use this one codec.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "records/measurement.hpp"

namespace forerun {

[[nodiscard]] std::string texts_to_json(const std::map<std::string, std::string>& texts);
[[nodiscard]] std::string numbers_to_json(const std::map<std::string, double>& numbers);
Result<std::map<std::string, std::string>> texts_from_json(std::string_view json);  // numbers become their text
Result<std::map<std::string, double>> numbers_from_json(std::string_view json);

// One line without its newline; empty fields are left out.
[[nodiscard]] std::string measurement_to_json(const Measurement& row);
// Refuses unknown fields and wrong types; what is absent is empty.
Result<Measurement> measurement_from_json(std::string_view json);

}  // namespace forerun
