// The verdict and the limits of an answer as JSON.
#include "service/json.hpp"

namespace forerun {
namespace {

void write_choice(JsonWriter& json, std::string_view key, const std::optional<Choice>& choice) {
  if (!choice) return;
  json.key(key).begin_object().field("device", choice->device).field(choice->key, choice->value);
  json.field("probability", choice->probability);
  if (!choice->tie.empty()) json.field("tie", choice->tie);
  json.end_object();
}

}  // namespace

void write_verdict(JsonWriter& json, const Verdict& verdict) {
  json.key("verdict").begin_object().field("text", verdict.text);
  json.field("holds", std::int64_t(verdict.holds)).field("of", std::int64_t(verdict.of));
  write_choice(json, "cheapest", verdict.cheapest);
  write_choice(json, "fastest", verdict.fastest);
  write_choice(json, "most_frugal", verdict.most_frugal);
  json.end_object();
}

void write_limits(JsonWriter& json, const LimitReport& limits) {
  json.key("limits").begin_object().field("holds", limits.holds()).field("probability", limits.probability);
  json.key("misses").begin_array();
  for (const Miss& miss : limits.misses) {
    json.begin_object().field("limit", miss.limit).field("reason", miss.reason);
    if (miss.asked > 0) json.field("asked", miss.asked);
    if (miss.value > 0) json.field("value", miss.value);
    json.end_object();
  }
  json.end_array().key("remedies").begin_array();
  for (const Remedy& remedy : limits.remedies) {
    json.begin_object().field("text", remedy.text).key("set").begin_object();
    for (const Setting& setting : remedy.settings) json.field(setting.option, setting.value);
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

void write_assertions(JsonWriter& json, const std::vector<Checked>& assertions) {
  json.key("assertions").begin_array();
  for (const Checked& checked : assertions) {
    json.begin_object().field("assert", checked.assertion).field("device", checked.device);
    if (checked.value) json.field("value", *checked.value);
    json.field("holds", checked.holds).end_object();
  }
  json.end_array();
}

std::string error_json(const Error& error, const std::string& id, std::int64_t line) {
  constexpr std::string_view kKinds[] = {"bad_input", "not_found",   "too_large", "too_costly",
                                         "deadline",  "interrupted", "io",        "internal"};
  JsonWriter json;
  json.begin_object().key("error").begin_object().field("message", error.message);
  json.field("kind", kKinds[std::size_t(error.kind)]);
  if (line > 0) json.field("line", line);
  return with_id(id, json.end_object().end_object().take());
}

std::string with_id(const std::string& id, std::string object) {
  return id.empty() ? object : object.insert(1, "\"id\":" + id + ",");
}

}  // namespace forerun
