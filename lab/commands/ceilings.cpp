#include "commands/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "profiler/sweep.hpp"

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> if_measured(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

// 4 significant digits: more would be noise.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

void put(Json& json, const char* name, const std::optional<double>& value) {
  if (value) json[name] = rounded(*value);
}

Json json_of(const MeasuredCeilings& ceilings, const Characterization& result) {
  Json json = {{"date", ceilings.date},
               {"how", "forerun-lab characterize on " + result.device_name + ", driver " + result.driver}};
  for (const auto& [precision, rate] : ceilings.peak_tflops) json["peak_tflops"][precision] = rounded(rate);
  for (const auto& [name, figure] : kCeilingFigures) put(json, name, ceilings.*figure);
  put(json, "copy_gb_per_s", if_measured(result.copy_gb_per_s));
  put(json, "launch_and_wait_us", if_measured(result.launch_and_wait_us));
  put(json, "graph_launch_us", if_measured(result.graph_launch_us));
  put(json, "host_to_device_gb_per_s", if_measured(result.host_to_device_gb_per_s));
  put(json, "device_to_host_gb_per_s", if_measured(result.device_to_host_gb_per_s));
  return json;
}

}  // namespace

MeasuredCeilings ceilings_of(const Characterization& result) {
  MeasuredCeilings ceilings;
  ceilings.date = result.date;
  for (const auto& [precision, rate] : result.plain_tflops) {
    if (rate > 0) ceilings.peak_tflops[precision] = rate;
  }
  for (const GemmPoint& point : result.gemms) {  // the best size of each precision
    double& best = ceilings.peak_tflops[point.precision];
    best = std::max(best, point.tflops);
  }
  ceilings.memory_bandwidth_gb_per_s = memory_bandwidth_gb_per_s(result);
  ceilings.l2_bandwidth_gb_per_s = l2_bandwidth_gb_per_s(result);
  ceilings.l1_bandwidth_gb_per_s = l1_bandwidth_gb_per_s(result);
  ceilings.kernel_launch_us = if_measured(result.kernel_launch_us);
  ceilings.graph_kernel_us = if_measured(result.graph_kernel_us);
  // A process that is about to run something has a context open.
  ceilings.idle_power_w =
      if_measured(result.idle_context_power_w > 0 ? result.idle_context_power_w : result.idle_power_w);
  ceilings.loaded_power_w = if_measured(std::max(result.loaded_power_w, result.memory_loaded_power_w));
  return ceilings;
}

Result<std::string> device_file_with(const Characterization& result, const std::string& device_json,
                                     const std::string& id) {
  const MeasuredCeilings ceilings = ceilings_of(result);
  Json json;
  if (!device_json.empty()) {
    json = Json::parse(device_json, nullptr, false);
    if (!json.is_object()) return internal_error(id + ": the catalogue's file is not a JSON object");
  } else {
    if (ceilings.peak_tflops.empty() || !ceilings.memory_bandwidth_gb_per_s) {
      return bad_input(
          result.device_name +
          ": not in the catalogue, and rates or bandwidth could not be measured: no device file can be written");
    }
    json = {{"id", id}, {"name", result.device_name}, {"kind", "gpu"}, {"sm_count", result.multiprocessors}};
    for (const auto& [precision, rate] : ceilings.peak_tflops) json["peak_tflops"][precision] = rounded(rate);
    json["memory_gib"] = rounded(result.memory_bytes / (1 << 30));
    json["memory_bandwidth_gb_per_s"] = rounded(*ceilings.memory_bandwidth_gb_per_s);
    if (result.l2_bytes > 0) json["l2_mib"] = rounded(result.l2_bytes / (1 << 20));
    if (!ceilings.loaded_power_w)
      return bad_input(result.device_name +
                       ": not in the catalogue, and its power could not be read: no device file can be written");
    json["power_limit_w"] = rounded(*ceilings.loaded_power_w);
    json["sources"] = {
        {"default", "measured by forerun-lab characterize: no data sheet; power_limit_w is the highest power seen"}};
  }
  json["measured"] = json_of(ceilings, result);
  return json.dump(2) + "\n";
}

}  // namespace forerun
