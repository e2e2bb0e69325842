#include "predictors/reference_host.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_hosts();  // data/hosts/*.json

namespace {

constexpr double kOverlapPower = 4;

}  // namespace

const ReferenceHost& reference_host() {
  static const ReferenceHost kHost = [] {
    ReferenceHost host;
    host.time.fill(1);
    for (const EmbeddedFile& file : embedded_hosts()) {
      const auto json = nlohmann::json::parse(file.bytes, nullptr, false);
      if (file.name != "reference.json" || !json.is_object()) continue;
      host.probe_us = json.value("host_probe_us", 0.0);
      host.wait_power_w = json.value("wait_power_w", kWaitPowerW);
      const auto times = json.value("host_time", nlohmann::json::object());
      for (std::size_t i = 0; i < host.time.size(); ++i)
        host.time[i] = times.value(std::string(name_of(RunKind(i))), 1.0);
    }
    return host;
  }();
  return kHost;
}

CountedAs reference_counted(bool training) {
  return counted({.wait_w = reference_host().wait_power_w, .counter_ms = 0}, training);
}

double eager_ms(double device_ms, double host_ms) {
  return std::pow(std::pow(device_ms, kOverlapPower) + std::pow(host_ms, kOverlapPower), 1 / kOverlapPower);
}

double device_share(double device_ms, double host_ms) {
  const double device = std::pow(device_ms, kOverlapPower), host = std::pow(host_ms, kOverlapPower);
  return device + host > 0 ? device / (device + host) : 1;
}

double host_ms_behind(double eager, double device_ms, double analytic_ms) {
  const double left = std::pow(eager, kOverlapPower) - std::pow(device_ms, kOverlapPower);
  const double host_ms = std::pow(std::max(0.0, left), 1 / kOverlapPower);
  // A host of half the device's time adds 1.5 % to a pass, one of the device's time 19 %: between the two, what stands in
  // the pass may as well be an error of the kernels.
  const double told = std::clamp(2 * host_ms / std::max(1e-9, device_ms) - 1, 0.0, 1.0);
  const double possible_ms = std::max(1e-9, std::min(analytic_ms, std::max(host_ms, device_ms / 2)));
  return std::pow(possible_ms, 1 - told) * std::pow(host_ms, told);
}

RooflineEstimate eager_on_host(const RooflineEstimate& r, double host_ms, const Device& device) {
  const double device_us = 1e3 * r.device_ms;
  return sum_up(device_us, r.compute_share * device_us, r.memory_share * device_us, 1e3 * host_ms, device,
                shipped_constants());
}

}  // namespace forerun
