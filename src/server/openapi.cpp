// The description of every route: requests by the table of options, answers by data/api/schemas.json.
#include "server/openapi.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "server/api.hpp"
#include "server/batch.hpp"
#include "server/schemas.hpp"
#include "service/options.hpp"
#include "service/version.hpp"

namespace forerun::server {
namespace {

using Json = nlohmann::ordered_json;

Json bounded(const char* type, const OptionRange& range) {
  const auto number = [](double value) {
    return value == double(std::int64_t(value)) ? Json(std::int64_t(value)) : Json(value);
  };
  return {{"type", type}, {"minimum", number(range.least)}, {"maximum", number(range.most)}};
}

// Options whose JSON form says more than their text on the command line.
Json special_schema(const Option& option) {
  const Json text = {{"type", "string"}};
  const Json list = {{"type", "array"}, {"items", text}};
  if (option.kind == OptionKind::List) return {{"oneOf", {list, text}}};
  if (option.name == "input-tokens" || option.name == "output-tokens") {
    const Json length = {
        {"type", "object"},
        {"required", {"mean"}},
        {"properties", {{"mean", {{"type", "number"}}}, {"cv", {{"type", "number"}, {"minimum", 0}}}}}};
    return {{"oneOf", {bounded("integer", option.range), length}}};
  }
  if (option.name != "disaggregated") return nullptr;
  const Json instances = {{"type", "object"},
                          {"required", {"prefill", "decode"}},
                          {"properties", {{"prefill", {{"type", "integer"}}}, {"decode", {{"type", "integer"}}}}}};
  return {{"oneOf", {instances, text}}};
}

Json plain_schema(const Option& option) {
  switch (option.kind) {
    case OptionKind::Integer: return bounded("integer", option.range);
    case OptionKind::Real: return bounded("number", option.range);
    case OptionKind::Flag: return {{"type", "boolean"}};
    case OptionKind::Dims: return {{"type", "object"}, {"additionalProperties", bounded("integer", option.range)}};
    case OptionKind::Shapes: {
      const Json sizes = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", -1}}}};
      return {{"type", "object"}, {"additionalProperties", sizes}};
    }
    case OptionKind::Text:
    case OptionKind::List: break;
  }
  return {{"type", "string"}};
}

Json schema_of(const Option& option) {
  Json schema = special_schema(option);
  if (schema.is_null()) schema = plain_schema(option);
  schema["description"] = option.help;
  if (option.choices.empty()) return schema;
  Json choices = Json::array();
  for (std::string_view rest = option.choices; !rest.empty();) {
    const std::size_t bar = rest.find('|');
    choices.push_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  schema["enum"] = std::move(choices);
  return schema;
}

Json request_schema(unsigned command) {
  Json properties = {
      {"model", {{"type", "string"}, {"description", "name of a shipped network (GET /v1/networks); never a path"}}},
      {"config",
       {{"type", "object"},
        {"additionalProperties", true},
        {"minProperties", 1},
        {"description", "a Hugging Face config.json, instead of model"}}},
  };
  if (command != kInspect) {
    properties["device_spec"] = {{"allOf", Json::array({reference_to("Device")})},
                                 {"description", "a device's own figures; asked about where `device` names no other"}};
  }
  for (const Option& option : all_options()) {
    if ((option.commands & command) == 0 || is_local_option(option.name)) continue;
    properties[json_key(option)] = schema_of(option);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json body_of(const Route& route) {
  const Json request = reference_to(route.request_schema);
  Json json = {{"schema", request}};
  if (const Json example = example_of(route.operation); !example.is_null()) json["example"] = example;
  const Json form = {{"type", "object"},
                     {"required", {"model"}},
                     {"properties",
                      {{"request", request},
                       {"model", {{"type", "string"}, {"format", "binary"}, {"description", "the model file"}}}}}};
  Json content = {{"application/json", std::move(json)}, {"multipart/form-data", {{"schema", form}}}};
  if (route.takes_lines) {
    content[std::string(kLinesType)] = {
        {"schema", {{"type", "string"}, {"description", "one request per line; an answer per line comes back"}}}};
  }
  return {{"required", true}, {"content", std::move(content)}};
}

Json answer(std::string_view description, std::string_view type, Json schema) {
  return {{"description", description}, {"content", {{type, {{"schema", std::move(schema)}}}}}};
}

Json parameters_of(const Route& route) {
  Json parameters = Json::array();
  if (route.path.ends_with("{id}"))
    parameters.push_back({{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  for (std::string_view rest = route.query; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    const std::size_t colon = one.find(':');
    const std::string_view type = colon == std::string_view::npos ? "string" : one.substr(colon + 1);
    parameters.push_back({{"name", one.substr(0, colon)}, {"in", "query"}, {"schema", {{"type", type}}}});
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return parameters;
}

Json operation_of(const Route& route) {
  const std::string_view type = route.content_type;
  Json operation = {{"operationId", route.operation}, {"summary", route.summary}};
  if (!route.request_schema.empty()) operation["requestBody"] = body_of(route);
  if (Json parameters = parameters_of(route); !parameters.empty()) operation["parameters"] = std::move(parameters);
  Json schema = !route.answer_schema.empty() ? reference_to(route.answer_schema) : Json{{"type", "string"}};
  operation["responses"] = {{"200", answer("the answer", type, std::move(schema))},
                            {"default", answer("what is wrong", "application/problem+json", reference_to("Problem"))}};
  if (route.takes_lines)
    operation["responses"]["200"]["content"][std::string(kLinesType)] = {{"schema", {{"type", "string"}}}};
  if (!route.is_open) operation["security"] = Json::array({{{"token", Json::array()}}, Json::object()});
  return operation;
}

Json schemas() {
  Json all = {{"PredictRequest", request_schema(kPredictAll)},
              {"AdviseRequest", request_schema(kAdviseAll)},
              {"PlanRequest", request_schema(kPlanAll)},
              {"MigRequest", request_schema(kMig)},
              {"RooflineRequest", request_schema(kRoofline)},
              {"InspectRequest", request_schema(kInspect)}};
  all.update(answer_schemas());
  return all;
}

}  // namespace

std::string openapi_json() {
  Json paths = Json::object();
  for (const Route& route : all_routes())
    paths[std::string(route.path)][route.method == "POST" ? "post" : "get"] = operation_of(route);
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Forerun"},
        {"version", program_version()},
        {"description", "How a neural network will run, before it runs."},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", schemas()}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  return document.dump() + "\n";
}

}  // namespace forerun::server
