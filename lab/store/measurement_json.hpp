// A measurement as one JSON object: the store's text columns, the JSON-lines files and the tests use this one codec.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "records/measurement.hpp"

namespace forerun {

// The fields of a measurement that are plain texts, under their names in files.
struct TextField {
  std::string_view name;
  std::string Measurement::*member;
};
[[nodiscard]] std::span<const TextField> measurement_texts();

[[nodiscard]] std::string texts_to_json(const std::map<std::string, std::string>& texts);
[[nodiscard]] std::string numbers_to_json(const std::map<std::string, double>& numbers);
Result<std::map<std::string, std::string>> texts_from_json(std::string_view json);  // numbers become their text
Result<std::map<std::string, double>> numbers_from_json(std::string_view json);

// One line without its newline; empty fields are left out.
[[nodiscard]] std::string measurement_to_json(const Measurement& row);
// Refuses unknown fields and wrong types; what is absent is empty.
Result<Measurement> measurement_from_json(std::string_view json);

}  // namespace forerun
