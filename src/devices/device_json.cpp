// A device into JSON: the one form that the command line, HTTP and Python give out.
#include <nlohmann/json.hpp>

#include "devices/catalogue.hpp"

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

// Replaces the figures of the card by those of the slice.
void cut_to_slice(Json& json, const Device& slice) {
  json["id"] = slice.id;
  json["name"] = slice.name;
  json["slice"] = slice.slice;
  json["aliases"] = slice.aliases;
  json["sm_count"] = slice.sm_count;
  json["peak_tflops"] = slice.peak_tflops;
  json["memory_gib"] = slice.memory_gib;
  json["memory_bandwidth_gb_per_s"] = slice.memory_bandwidth_gb_per_s;
  put(json, "l2_mib", slice.l2_mib);
  json["power_limit_w"] = slice.power_limit_w;
  put(json, "idle_power_w", slice.idle_power_w);
  json.erase("mig");
  if (slice.reported) {
    Json reported = {{"source", slice.reported->source}};
    put(reported, "memory_bandwidth_gb_per_s", slice.reported->memory_bandwidth_gb_per_s);
    put(reported, "l2_bandwidth_gb_per_s", slice.reported->l2_bandwidth_gb_per_s);
    put(reported, "l1_bandwidth_gb_per_s", slice.reported->l1_bandwidth_gb_per_s);
    json["reported"] = std::move(reported);
  }
  if (!slice.measured) return;
  const MeasuredCeilings& from = *slice.measured;
  Json measured = {{"date", from.date}, {"peak_tflops", from.peak_tflops}};
  for (const auto& [name, figure] : kCeilingFigures) put(measured, name, from.*figure);
  json["measured"] = std::move(measured);
}

}  // namespace

std::string Catalogue::describe(const Device& device) const {
  const std::string card = device.id.substr(0, device.slice.empty() ? std::string::npos : device.id.rfind(':'));
  std::string_view text = "{}";
  if (const auto own = own_texts_.find(card); own != own_texts_.end()) {
    text = own->second;
  } else if (const std::string_view* shipped = shipped_device_json(card)) {
    text = *shipped;
  }
  Json json = Json::parse(text, nullptr, false);
  if (!device.slice.empty()) cut_to_slice(json, device);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace forerun
