#include "service/catalogue_json.hpp"

#include <nlohmann/json.hpp>

#include "advice/carbon.hpp"
#include "base/json_writer.hpp"
#include "readers/networks.hpp"

namespace forerun {

std::string devices_json(const Catalogue& catalogue) {
  JsonWriter json;
  json.begin_object().key("devices").begin_array();
  for (const Device& device : catalogue.devices()) json.raw(catalogue.describe(device));
  return json.end_array().end_object().take();
}

std::string networks_json() {
  JsonWriter json;
  json.begin_object().key("networks").begin_array();
  for (const ShippedNetwork& network : list_networks()) {
    json.begin_object()
        .field("name", network.name)
        .field("architecture", network.architecture)
        .field("task", network.task);
    if (network.published_parameters) json.field("parameters", *network.published_parameters);
    json.field("license", network.license).field("source", network.source).end_object();
  }
  return json.end_array().end_object().take();
}

std::string predictors_json(const Service& service) {
  JsonWriter json;
  json.begin_object().key("predictors").begin_array();
  for (const PredictorInfo& info : service.predictors()) {
    json.begin_object().field("name", info.name).field("basis", info.basis).texts("metrics", info.metrics);
    const auto report = nlohmann::ordered_json::parse(info.report_json, nullptr, false);
    if (!report.is_discarded()) json.key("report").raw(report.dump());
    json.end_object();
  }
  return json.end_array().end_object().take();
}

std::string metrics_json() {
  JsonWriter json;
  json.begin_object().key("metrics").begin_array();
  for (const MetricSpec& spec : all_metrics()) {
    json.begin_object().field("key", spec.key).field("label", spec.label).field("unit", spec.unit);
    json.field("scope", spec.scope == MetricScope::Serving ? "serving" : "pass");
    json.field("better", spec.better == Better::Lower ? "lower" : "higher").field("meaning", spec.meaning).end_object();
  }
  return json.end_array().end_object().take();
}

std::string regions_json() {
  JsonWriter json;
  json.begin_object().key("regions").begin_array();
  for (const std::string& region : list_regions()) {
    const Result<Grid> grid = find_grid(region);
    if (grid) json.begin_object().field("id", region).field("g_per_kwh", grid->g_per_kwh).end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace forerun
