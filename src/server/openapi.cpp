// Request schemas come from service/options; answers are described as far as callers rely on them.
#include "server/openapi.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "server/api.hpp"
#include "service/options.hpp"

namespace forerun::server {
namespace {

using Json = nlohmann::ordered_json;

Json bounded(const char* type, const OptionRange& range) {
  const auto number = [](double value) {
    return value == double(std::int64_t(value)) ? Json(std::int64_t(value)) : Json(value);
  };
  return {{"type", type}, {"minimum", number(range.least)}, {"maximum", number(range.most)}};
}

Json schema_of(const Option& option) {
  Json schema;
  switch (option.kind) {
    case OptionKind::Integer: schema = bounded("integer", option.range); break;
    case OptionKind::Real: schema = bounded("number", option.range); break;
    case OptionKind::Flag: schema = {{"type", "boolean"}}; break;
    case OptionKind::Dims:
      schema = {{"type", "object"}, {"additionalProperties", bounded("integer", option.range)}};
      break;
    case OptionKind::Shapes:
      schema = {{"type", "object"},
                {"additionalProperties", {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", -1}}}}}};
      break;
    case OptionKind::Text:
    case OptionKind::List: schema = {{"type", "string"}}; break;
  }
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
      {"config", {{"type", "object"}, {"description", "a Hugging Face config.json, instead of model"}}},
  };
  for (const Option& option : all_options()) {
    if ((option.commands & command) == 0 || is_local_option(option.name)) continue;
    properties[json_key(option)] = schema_of(option);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json reference(std::string_view name) { return {{"$ref", "#/components/schemas/" + std::string(name)}}; }

Json body_of(std::string_view schema) {
  return {{"required", true},
          {"content",
           {{"application/json", {{"schema", reference(schema)}}},
            {"multipart/form-data",
             {{"schema",
               {{"type", "object"},
                {"required", Json::array({"model"})},
                {"properties",
                 {{"request", reference(schema)},
                  {"model", {{"type", "string"}, {"format", "binary"}, {"description", "the model file"}}}}}}}}}}}};
}

Json answer(std::string_view description, std::string_view type, Json schema) {
  return {{"description", description}, {"content", {{type, {{"schema", std::move(schema)}}}}}};
}

Json schemas() {
  const Json number = {{"type", "number"}};
  const Json text = {{"type", "string"}};
  Json estimate = {{"type", "object"},
                   {"description", "a number with its 90 % interval and where it comes from"},
                   {"required", {"value", "low", "high", "basis", "predictor"}},
                   {"properties",
                    {{"value", number},
                     {"low", number},
                     {"high", number},
                     {"basis", {{"enum", {"measured", "learned", "roofline"}}}},
                     {"predictor", text}}}};
  Json metrics = Json::object();
  for (const MetricSpec& spec : all_metrics()) {
    metrics[spec.key] = {{"allOf", {reference("Estimate")}},
                         {"description", std::string(spec.meaning) + " (" + std::string(spec.unit) + ")"}};
  }
  Json result = {{"type", "object"},
                 {"required", {"device", "estimates", "warnings"}},
                 {"properties",
                  {{"device", text},
                   {"estimates",
                    {{"type", "object"},
                     {"description", "by metric; a quantity that cannot be estimated is absent"},
                     {"properties", std::move(metrics)}}},
                   {"advice", {{"type", "object"}}},
                   {"breakdown", {{"type", "array"}, {"items", {{"type", "object"}}}}},
                   {"warnings", {{"type", "array"}, {"items", text}}}}}};
  Json report = {
      {"type", "object"},
      {"required", {"workload", "results"}},
      {"properties",
       {{"workload", {{"type", "object"}}}, {"results", {{"type", "array"}, {"items", reference("DeviceResult")}}}}}};
  Json problem_details = {
      {"type", "object"},
      {"properties", {{"type", text}, {"title", text}, {"status", {{"type", "integer"}}}, {"detail", text}}}};
  return {{"PredictRequest", request_schema(kPredictAll)},
          {"AdviseRequest", request_schema(kAdviseAll)},
          {"AdviseReport", {{"type", "object"}}},
          {"PlanRequest", request_schema(kPlanAll)},
          {"PlanReport", {{"type", "object"}}},
          {"InspectRequest", request_schema(kInspect)},
          {"Estimate", std::move(estimate)},
          {"DeviceResult", std::move(result)},
          {"PredictReport", std::move(report)},
          {"InspectReport", {{"type", "object"}}},
          {"Problem", std::move(problem_details)}};
}

}  // namespace

std::string openapi_json() {
  Json paths = Json::object();
  for (const Route& route : all_routes()) {
    const std::string_view type = route.content_type;
    Json operation = {{"summary", route.summary}};
    if (!route.request_schema.empty()) operation["requestBody"] = body_of(route.request_schema);
    if (!route.query.empty()) {
      Json parameters = Json::array();
      for (std::string_view rest = route.query; !rest.empty();) {
        const std::size_t comma = rest.find(',');
        parameters.push_back({{"name", rest.substr(0, comma)}, {"in", "query"}, {"schema", {{"type", "string"}}}});
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      }
      operation["parameters"] = std::move(parameters);
    }
    Json schema = !route.answer_schema.empty() ? reference(route.answer_schema)
                  : type == "application/json" ? Json{{"type", "object"}}
                                               : Json{{"type", "string"}};
    operation["responses"] = {{"200", answer("the answer", type, std::move(schema))},
                              {"default", answer("what is wrong", "application/problem+json", reference("Problem"))}};
    if (!route.is_open) operation["security"] = Json::array({{{"token", Json::array()}}, Json::object()});
    const std::string method = route.method == "POST" ? "post" : "get";
    paths[std::string(route.path)][method] = std::move(operation);
  }
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Forerun"}, {"version", "1"}, {"description", "How a neural network will run, before it runs."}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", schemas()}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  return document.dump() + "\n";
}

}  // namespace forerun::server
