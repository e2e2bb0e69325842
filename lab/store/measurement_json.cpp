#include "store/measurement_json.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

constexpr std::array<TextField, 11> kTexts = {{{"campaign", &Measurement::campaign},
                                               {"row_id", &Measurement::row_id},
                                               {"network", &Measurement::network},
                                               {"family", &Measurement::family},
                                               {"graph", &Measurement::graph},
                                               {"workload_hash", &Measurement::workload_hash},
                                               {"device", &Measurement::device},
                                               {"status", &Measurement::status},
                                               {"source", &Measurement::source},
                                               {"license", &Measurement::license},
                                               {"measured_at", &Measurement::measured_at}}};

Result<Json> parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return bad_input("not a JSON object");
  return json;
}

Result<std::map<std::string, std::string>> texts_in(const Json& object, std::string_view name) {
  if (!object.is_object()) return bad_input(fmt::format("'{}' is not an object", name));
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    texts[key] = value.is_string() ? value.get<std::string>() : dump(value);
  }
  return texts;
}

Result<std::map<std::string, double>> numbers_in(const Json& object, std::string_view name) {
  if (!object.is_object()) return bad_input(fmt::format("'{}' is not an object", name));
  std::map<std::string, double> numbers;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null()) continue;
    if (value.is_boolean()) {
      numbers[key] = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
      numbers[key] = value.get<double>();
    } else {
      return bad_input(fmt::format("'{}.{}' is not a number", name, key));
    }
  }
  return numbers;
}

}  // namespace

std::span<const TextField> measurement_texts() { return kTexts; }

std::string texts_to_json(const std::map<std::string, std::string>& texts) { return dump(Json(texts)); }
std::string numbers_to_json(const std::map<std::string, double>& numbers) { return dump(Json(numbers)); }

Result<std::map<std::string, std::string>> texts_from_json(std::string_view json) {
  FORERUN_TRY(const Json object, parse(json));
  return texts_in(object, "object");
}

Result<std::map<std::string, double>> numbers_from_json(std::string_view json) {
  FORERUN_TRY(const Json object, parse(json));
  return numbers_in(object, "object");
}

std::string measurement_to_json(const Measurement& row) {
  Json json = Json::object();
  for (const TextField& field : measurement_texts()) {
    if (!(row.*field.member).empty()) json[field.name] = row.*field.member;
  }
  if (!row.settings.empty()) json["settings"] = row.settings;
  if (!row.metrics.empty()) json["metrics"] = row.metrics;
  if (!row.software.empty()) json["software"] = row.software;
  return dump(json);
}

Result<Measurement> measurement_from_json(std::string_view text) {
  FORERUN_TRY(const Json json, parse(text));
  Measurement row;
  for (const auto& [key, value] : json.items()) {
    if (key == "settings") {
      FORERUN_TRY(row.settings, texts_in(value, key));
    } else if (key == "metrics") {
      FORERUN_TRY(row.metrics, numbers_in(value, key));
    } else if (key == "software") {
      FORERUN_TRY(row.software, texts_in(value, key));
    } else {
      bool known = false;
      for (const TextField& field : measurement_texts()) {
        if (key != field.name) continue;
        if (!value.is_string()) return bad_input(fmt::format("'{}' is not a text", key));
        row.*field.member = value.get<std::string>();
        known = true;
      }
      if (!known) return bad_input(fmt::format("'{}' is not a field of a measurement", key));
    }
  }
  return row;
}

}  // namespace forerun
