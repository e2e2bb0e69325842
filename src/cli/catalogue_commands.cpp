#include "cli/catalogue_commands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.hpp"
#include "cli/fail.hpp"
#include "cli/render.hpp"
#include "predictors/edge/edge_platform.hpp"
#include "readers/networks.hpp"
#include "service/catalogue_json.hpp"

namespace forerun {

int show_devices(const Catalogue& catalogue, const std::string& id, bool json, std::ostream& out, std::ostream& err) {
  if (!id.empty()) {
    const auto device = catalogue.find(id);
    if (!device) return fail(device.error(), err);
    out << (json ? catalogue.describe(*device) + "\n" : render_device(*device));
    return 0;
  }
  if (json) {
    out << devices_json(catalogue) << "\n";
    return 0;
  }
  out << fmt::format("{:<22}{:<40}{:>6}{:>9}{:>10}{:>8}{:>7}  {}\n", "id", "name", "SMs", "GiB", "GB/s", "fp16", "W",
                     "MIG");
  for (const Device& d : catalogue.devices()) {
    const auto peak = d.peak_tflops.find("fp16_tensor");
    out << fmt::format("{:<22}{:<40}{:>6}{:>9.4g}{:>10.5g}{:>8}{:>7.4g}  {}\n", d.id, d.name.substr(0, 39), d.sm_count,
                       d.memory_gib, d.memory_bandwidth_gb_per_s,
                       peak != d.peak_tflops.end() ? fmt::format("{:.4g}", peak->second) : "-", d.power_limit_w,
                       d.mig.empty() ? "" : "yes");
  }
  return 0;
}

bool is_edge_platform(const std::string& id) { return EdgePlatforms::load().find(id) != nullptr; }

int show_edge_platforms(const std::string& id, bool json, std::ostream& out, std::ostream& err) {
  const EdgePlatforms all = EdgePlatforms::load();
  for (const std::string& problem : all.problems)
    err << "forerun: warning: a platform is left out: " << problem << "\n";
  if (!id.empty()) {
    const EdgePlatform* platform = all.find(id);
    if (platform == nullptr) return fail(not_found("no phone or board is called '" + id + "'"), err);
    out << (json ? to_json_line(*platform) + "\n" : to_json(*platform));
    return 0;
  }
  if (json) {
    JsonWriter list;
    list.begin_object().key("devices").begin_array();
    for (const EdgePlatform& platform : all.platforms) list.raw(to_json_line(platform));
    out << list.end_array().end_object().take() << "\n";
    return 0;
  }
  out << fmt::format("{:<26}{:<34}{:<8}{:<14}{:>10}\n", "id", "name", "kind", "precisions", "networks");
  for (const EdgePlatform& platform : all.platforms) {
    std::string precisions;
    std::int64_t networks = 0;
    for (const auto& [precision, rates] : platform.rates) {
      precisions += (precisions.empty() ? "" : ", ") + std::string(name_of(precision));
      networks = std::max(networks, rates.networks);
    }
    out << fmt::format("{:<26}{:<34}{:<8}{:<14}{:>10}\n", platform.id, platform.name, platform.kind, precisions,
                       networks);
  }
  return 0;
}

int show_networks(const std::string& name, bool json, std::ostream& out, std::ostream& err) {
  if (!name.empty()) {
    if (!is_shipped_network(name)) return fail(find_network(name).error(), err);
    out << network_text(name) << "\n";
    return 0;
  }
  if (json) {
    out << networks_json() << "\n";
    return 0;
  }
  for (const ShippedNetwork& n : list_networks()) {
    out << fmt::format("{:<30}{:<16}{:<10}{:>12}  {}\n", n.name, n.architecture, n.task,
                       n.published_parameters ? human_count(double(*n.published_parameters)) : "", n.license);
  }
  return 0;
}

int show_predictors(const Service& service, bool json, std::ostream& out) {
  if (json) {
    out << predictors_json(service) << "\n";
    return 0;
  }
  for (const PredictorInfo& p : service.predictors())
    out << fmt::format("{:<20}{:<12}{}\n", p.name, p.basis, fmt::join(p.metrics, ", "));
  return 0;
}

}  // namespace forerun
