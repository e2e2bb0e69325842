#include "service/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Six significant digits: what is printed is not more exact than what is known.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json tensors(const std::vector<TensorInfo>& list) {
  Json result = Json::array();
  for (const TensorInfo& tensor : list) {
    Json row = {{"name", tensor.name}, {"dtype", tensor.dtype}};
    row["shape"] = tensor.shape_known ? Json(tensor.shape) : Json(nullptr);
    result.push_back(std::move(row));
  }
  return result;
}

Json workload_json(const WorkloadInfo& w) {
  Json json = {{"name", w.name},
               {"format", w.format},
               {"batch", w.batch},
               {"precision", name_of(w.precision)},
               {"runtime", name_of(w.runtime)},
               {"phase", name_of(w.phase)}};
  json["sequence"] = w.sequence ? Json(*w.sequence) : Json(nullptr);
  json["training"] = w.training;
  json["optimizer"] = w.training ? Json(name_of(w.optimizer)) : Json(nullptr);
  json["parameters"] = w.parameters;
  json["macs"] = w.macs;
  return json;
}

Json slices_json(const std::vector<SliceEstimate>& slices) {
  Json list = Json::array();
  for (const SliceEstimate& s : slices) {
    list.push_back({{"profile", s.profile.profile},
                    {"fits", s.fits},
                    {"instances", s.profile.instances},
                    {"memory_gib", s.profile.memory_gib},
                    {"sm_count", s.profile.sm_count},
                    {"latency_ms", rounded(s.latency_ms)},
                    {"throughput_per_s", rounded(s.throughput_per_s)},
                    {"total_throughput_per_s", rounded(s.total_throughput_per_s)}});
  }
  return list;
}

Json advice_json(const Advice& a) {
  Json json = {{"fits", a.fits}};
  if (a.mig) {
    json["mig"] = {{"profile", a.mig->profile}, {"instances", a.mig->instances}, {"why", a.mig->why}, {"slices", slices_json(a.mig->slices)}};
  }
  const auto number = [&json](const char* key, const std::optional<double>& value) {
    if (value) json[key] = rounded(*value);
  };
  number("usd_per_hour", a.usd_per_hour);
  number("usd_per_million", a.usd_per_million);
  number("usd_total", a.usd_total);
  if (a.usd_per_hour) {
    json["price_kind"] = a.price_kind;
    json["price_date"] = a.price_date;
  }
  number("co2_g_per_million", a.co2_g_per_million);
  number("co2_g_total", a.co2_g_total);
  number("hours_total", a.hours_total);
  number("energy_kwh_total", a.energy_kwh_total);
  json["region"] = a.region;
  return json;
}

Json result_json(const DeviceResult& r) {
  Json json = {{"device", r.device}};
  Json estimates = Json::object();
  for (const auto& [metric, e] : r.estimates) {
    estimates[metric] = {{"value", rounded(e.value)}, {"low", rounded(e.low)}, {"high", rounded(e.high)},
                         {"basis", name_of(e.basis)}, {"predictor", e.predictor}};
  }
  json["estimates"] = std::move(estimates);
  if (!r.measured.empty()) {
    Json measured = Json::object();
    for (const auto& [metric, value] : r.measured) measured[metric] = {{"value", rounded(value)}, {"basis", "measured"}};
    json["measured"] = std::move(measured);
  }
  json["advice"] = advice_json(r.advice);
  Json breakdown = Json::array();
  for (const BreakdownRow& row : r.breakdown) {
    breakdown.push_back({{"kernel", row.kernel}, {"operators", row.operators}, {"count", row.count}, {"time_ms", rounded(row.time_ms)},
                         {"bound", name_of(row.bound)}, {"flops", rounded(row.flops)}, {"bytes", rounded(row.bytes)}});
  }
  json["breakdown"] = std::move(breakdown);
  if (!r.capacity.empty()) {
    Json capacity = Json::object();
    for (const auto& [key, value] : r.capacity) capacity[key] = std::int64_t(value);
    json["capacity"] = std::move(capacity);
  }
  if (!r.explanation.empty()) {
    Json list = Json::array();
    for (const FeatureEffect& c : r.explanation) {
      list.push_back({{"metric", c.metric}, {"feature", c.feature}, {"unit", c.unit}, {"value", rounded(c.value)}, {"factor", rounded(c.effect)}});
    }
    json["explanation"] = std::move(list);
  }
  json["warnings"] = r.warnings;
  return json;
}

}  // namespace

std::string to_json(const InspectReport& report) {
  const Totals& t = report.totals;
  Json json = {{"name", report.name}, {"format", report.format}};
  json["inputs"] = tensors(report.inputs);
  json["outputs"] = tensors(report.outputs);
  json["nodes"] = t.nodes;
  json["edges"] = t.edges;
  json["parameters"] = t.parameters;
  json["weight_bytes"] = t.weight_bytes;
  json["macs"] = t.macs;
  json["flops"] = t.flops;
  json["bytes_moved"] = t.bytes_moved;
  json["activation_peak_bytes"] = t.activation_peak_bytes;
  Json operators = Json::object();
  for (const auto& [name, row] : t.operators) {
    operators[name] = {{"count", row.count}, {"macs", row.macs}, {"flops", row.flops}, {"parameters", row.parameters}, {"bytes_moved", row.bytes_moved}};
  }
  json["operators"] = std::move(operators);
  json["coverage"] = t.coverage;
  json["unknown_operators"] = t.unknown_operators;
  json["warnings"] = report.warnings;
  return dump(json);
}

std::string to_json(const PredictReport& report) {
  Json json = {{"workload", workload_json(report.workload)}};
  Json results = Json::array();
  for (const DeviceResult& result : report.results) results.push_back(result_json(result));
  json["results"] = std::move(results);
  return dump(json);
}

std::string to_json(const MigReport& report) {
  Json json = {{"workload", workload_json(report.workload)}, {"device", report.device}, {"memory_mb", rounded(report.memory_mb)},
               {"device_memory_mb", rounded(report.device_memory_mb)}};
  json["mig"] = report.advice ? Json{{"profile", report.advice->profile}, {"instances", report.advice->instances}, {"why", report.advice->why}}
                              : Json(nullptr);
  json["slices"] = slices_json(report.slices);
  json["warnings"] = report.warnings;
  return dump(json);
}

std::string to_json(const RooflineReport& report) {
  Json json = {{"workload", workload_json(report.workload)}, {"device", report.device}};
  Json ceilings = Json::array();
  for (const Ceiling& c : report.ceilings) {
    ceilings.push_back({{"name", c.name}, {c.is_bandwidth ? "gb_per_s" : "tflops", rounded(c.value)}, {"measured", c.is_measured}});
  }
  json["ceilings"] = std::move(ceilings);
  Json points = Json::array();
  for (const RooflinePoint& p : report.points) {
    points.push_back({{"kernel", p.kernel}, {"count", p.count}, {"flops", rounded(p.flops)}, {"bytes", rounded(p.bytes)}, {"time_ms", rounded(p.time_ms)},
                      {"intensity", rounded(p.intensity)}, {"gflops_per_s", rounded(p.gflops_per_s)}, {"bound", name_of(p.bound)}, {"why", p.why}});
  }
  json["kernels"] = std::move(points);
  json["warnings"] = report.warnings;
  return dump(json);
}

std::string error_json(const std::string& message) { return dump({{"error", {{"message", message}}}}); }

}  // namespace forerun
