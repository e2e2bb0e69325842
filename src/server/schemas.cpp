// The short form: an object of fields. A name ends in "?" where the field may be absent; a value is a type, then ";
// what it means". Types: text, number, integer, boolean, any, a schema's name, [type], {type} (by name), "type or
// null", "a|b" (words).
#include "server/schemas.hpp"

#include <span>
#include <string>

#include "base/embedded.hpp"
#include "records/metric.hpp"

namespace forerun {
std::span<const EmbeddedFile> embedded_api();
}

namespace forerun::server {
namespace {

using Json = nlohmann::ordered_json;

Json read_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_api()) {
    if (file.name == name) return Json::parse(file.bytes);
  }
  return Json::object();
}

Json type_of(std::string_view text) {
  constexpr std::string_view kOrNull = " or null";
  if (text.ends_with(kOrNull)) {
    Json type = type_of(text.substr(0, text.size() - kOrNull.size()));
    if (type.contains("$ref")) return {{"oneOf", {std::move(type), {{"type", "null"}}}}};
    type["type"] = Json::array({type["type"], "null"});
    return type;
  }
  if (text.starts_with('[')) return {{"type", "array"}, {"items", type_of(text.substr(1, text.size() - 2))}};
  if (text.starts_with('{'))
    return {{"type", "object"}, {"additionalProperties", type_of(text.substr(1, text.size() - 2))}};
  if (text == "any") return Json::object();
  if (text == "text") return {{"type", "string"}};
  if (text == "number" || text == "integer" || text == "boolean") return {{"type", text}};
  if (text.find('|') == std::string_view::npos) return reference_to(text);
  Json words = Json::array();
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    words.push_back(text.substr(0, bar));
    text = bar == std::string_view::npos ? std::string_view() : text.substr(bar + 1);
  }
  return {{"type", "string"}, {"enum", std::move(words)}};
}

Json field_of(std::string_view text) {
  const std::size_t note = text.find("; ");
  Json type = type_of(text.substr(0, note));
  if (note == std::string_view::npos) return type;
  const std::string_view words = text.substr(note + 2);
  if (type.contains("$ref")) return {{"allOf", Json::array({std::move(type)})}, {"description", words}};
  type["description"] = words;
  return type;
}

Json schema_of(const Json& fields) {
  Json schema = {{"type", "object"}};
  Json required = Json::array(), properties = Json::object();
  for (const auto& [key, value] : fields.items()) {
    const std::string text = value.get<std::string>();
    if (key == "about") {
      schema["description"] = text;
      continue;
    }
    const bool is_optional = key.ends_with('?');
    const std::string name = is_optional ? key.substr(0, key.size() - 1) : key;
    if (!is_optional) required.push_back(name);
    properties[name] = field_of(text);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  return schema;
}

}  // namespace

Json reference_to(std::string_view schema) { return {{"$ref", "#/components/schemas/" + std::string(schema)}}; }

Json answer_schemas() {
  Json schemas = Json::object();
  const Json short_forms = read_file("schemas.json");
  for (const auto& [name, fields] : short_forms.items()) schemas[name] = schema_of(fields);
  Json metrics = Json::object();
  for (const MetricSpec& spec : all_metrics()) {
    metrics[spec.key] = {{"allOf", Json::array({reference_to("Estimate")})},
                         {"description", std::string(spec.meaning) + " (" + std::string(spec.unit) + ")"}};
  }
  schemas["Estimates"] = {{"type", "object"},
                          {"description", "by metric; a quantity that cannot be estimated is absent"},
                          {"properties", std::move(metrics)}};
  return schemas;
}

Json example_of(std::string_view operation) {
  const Json examples = read_file("examples.json");
  const auto found = examples.find(std::string(operation));
  return found == examples.end() ? Json() : *found;
}

}  // namespace forerun::server
