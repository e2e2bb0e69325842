#include "python/catalogue_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "readers/networks.hpp"
#include "service/options.hpp"

namespace forerun::python {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string dump(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

// A figure that is not known is absent.
template <typename T>
void put(OrderedJson& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

OrderedJson profiles(const Device& device) {
  OrderedJson list = OrderedJson::array();
  for (const MigProfile& p : device.mig) {
    list.push_back({{"profile", p.profile}, {"memory_gib", p.memory_gib}, {"sm_count", p.sm_count}, {"instances", p.instances}});
  }
  return list;
}

// From the record, not from the shipped file: the user's own devices are told like the others.
OrderedJson describe(const Device& device) {
  OrderedJson json = {{"id", device.id},     {"name", device.name},       {"maker", device.maker},
                      {"kind", device.kind}, {"architecture", device.architecture}};
  if (device.year > 0) json["year"] = device.year;
  json["aliases"] = device.aliases;
  put(json, "compute_capability", device.compute_capability);
  json["sm_count"] = device.sm_count;
  json["memory_gib"] = device.memory_gib;
  json["memory_bandwidth_gb_per_s"] = device.memory_bandwidth_gb_per_s;
  put(json, "l2_mib", device.l2_mib);
  put(json, "clock_boost_mhz", device.clock_boost_mhz);
  json["power_limit_w"] = device.power_limit_w;
  put(json, "idle_power_w", device.idle_power_w);
  json["peak_tflops"] = device.peak_tflops;
  json["mig"] = profiles(device);
  json["is_measured"] = device.measured.has_value();
  return json;
}

struct Command {
  unsigned bit;
  const char* name;
};
constexpr std::array kCommands = {Command{kInspect, "inspect"}, Command{kPredict, "predict"}, Command{kMig, "mig"},
                                  Command{kRoofline, "roofline"}};

const char* type_of(OptionKind kind) {
  switch (kind) {
    case OptionKind::Integer:
      return "int";
    case OptionKind::Real:
      return "float";
    case OptionKind::Text:
      return "str";
    case OptionKind::Flag:
      return "bool";
    case OptionKind::List:
      return "list[str]";
    case OptionKind::Dims:
      return "dict[str, int]";
  }
  return "str";
}

}  // namespace

std::string devices_json(const Service& service) {
  OrderedJson list = OrderedJson::array();
  for (const Device& device : service.catalogue().devices()) list.push_back(describe(device));
  return dump(list);
}

Result<std::string> device_json(const Service& service, const std::string& name) {
  FORERUN_TRY(const Device device, service.catalogue().find(name));
  return dump(describe(device));
}

std::string networks_json() {
  OrderedJson list = OrderedJson::array();
  for (const ShippedNetwork& network : list_networks()) {
    OrderedJson json = {{"name", network.name}, {"architecture", network.architecture}, {"task", network.task}};
    put(json, "parameters", network.published_parameters);
    json["license"] = network.license;
    json["source"] = network.source;
    list.push_back(std::move(json));
  }
  return dump(list);
}

std::string predictors_json(const Service& service) {
  OrderedJson list = OrderedJson::array();
  for (const PredictorInfo& info : service.predictors()) {
    OrderedJson json = {{"name", info.name}, {"basis", info.basis}, {"metrics", info.metrics}};
    OrderedJson report = OrderedJson::parse(info.report_json, nullptr, false);
    if (!report.is_discarded()) json["report"] = std::move(report);
    list.push_back(std::move(json));
  }
  return dump(list);
}

std::string options_json() {
  OrderedJson list = OrderedJson::array();
  for (const Option& option : all_options()) {
    std::string key(option.kind == OptionKind::Dims ? std::string_view("dims") : option.name);
    std::replace(key.begin(), key.end(), '-', '_');
    OrderedJson commands = OrderedJson::array();
    for (const Command& command : kCommands) {
      if ((option.commands & command.bit) != 0) commands.push_back(command.name);
    }
    list.push_back({{"key", key}, {"type", type_of(option.kind)}, {"commands", commands}, {"help", option.help}, {"choices", option.choices}});
  }
  return dump(list);
}

}  // namespace forerun::python
