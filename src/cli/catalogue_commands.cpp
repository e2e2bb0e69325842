#include "cli/catalogue_commands.hpp"

#include <fmt/format.h>

#include "cli/fail.hpp"
#include "cli/render.hpp"
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
