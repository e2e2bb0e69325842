#include "service/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "service/json.hpp"

namespace forerun {
namespace {

constexpr double kSame = 0.005;  // relative: less is no difference

std::string times(double ratio) { return fmt::format("{:.3g} %", std::abs(ratio - 1) * 100); }

std::string kind_of(const BreakdownRow& row) {
  if (row.operators.empty()) return std::string(name_of(row.kernel_class));
  return fmt::format("{}", fmt::join(row.operators, ", "));
}

std::vector<KindDifference> differences(const DeviceResult& a, const DeviceResult& b) {
  std::map<std::string, KindDifference> kinds;
  for (const BreakdownRow& row : a.breakdown) {
    KindDifference& kind = kinds[kind_of(row)];
    kind.count_a += row.count;
    kind.ms_a += row.time_ms();
  }
  for (const BreakdownRow& row : b.breakdown) {
    KindDifference& kind = kinds[kind_of(row)];
    kind.count_b += row.count;
    kind.ms_b += row.time_ms();
  }
  std::vector<KindDifference> list;
  for (auto& [name, kind] : kinds) {
    kind.kind = name;
    list.push_back(kind);
  }
  std::sort(list.begin(), list.end(),
            [](const auto& x, const auto& y) { return std::abs(x.difference_ms()) > std::abs(y.difference_ms()); });
  return list;
}

std::string counts_text(const KindDifference& kind) {
  if (kind.count_a == kind.count_b) return fmt::format("{} kernels in both", kind.count_a);
  return fmt::format("{} → {} kernels", kind.count_a, kind.count_b);
}

DeviceComparison compare_on(const DeviceResult& a, const DeviceResult& b) {
  DeviceComparison found;
  found.device = a.device;
  found.a = a.estimates.at(Metric::Latency);
  found.b = b.estimates.at(Metric::Latency);
  found.kinds = differences(a, b);
  const double ratio = found.b.value / found.a.value;
  if (std::abs(ratio - 1) < kSame) {
    found.text = fmt::format("{}: equally fast, {:.3g} ms", a.device, found.a.value);
    return found;
  }
  found.text = fmt::format("{}: B takes {:.3g} ms, {} {} than A's {:.3g} ms", a.device, found.b.value, times(ratio),
                           ratio > 1 ? "more" : "less", found.a.value);
  constexpr std::size_t kCauses = 3;
  for (std::size_t i = 0; i < std::min(kCauses, found.kinds.size()); ++i) {
    const KindDifference& kind = found.kinds[i];
    if (std::abs(kind.difference_ms()) < 0.1 * std::abs(found.b.value - found.a.value)) break;
    found.text +=
        fmt::format("{}{} ({}) {:+.3g} ms", i == 0 ? ": " : ", ", kind.kind, counts_text(kind), kind.difference_ms());
  }
  return found;
}

std::vector<OperatorDifference> operator_differences(const Totals& a, const Totals& b) {
  std::map<std::string, OperatorDifference> rows;
  for (const auto& [name, row] : a.operators) rows[name].count_a = row.count;
  for (const auto& [name, row] : b.operators) rows[name].count_b = row.count;
  std::vector<OperatorDifference> list;
  for (auto& [name, row] : rows) {
    row.name = name;
    if (row.count_a != row.count_b) list.push_back(row);
  }
  std::sort(list.begin(), list.end(), [](const auto& x, const auto& y) {
    return std::abs(x.count_b - x.count_a) > std::abs(y.count_b - y.count_a);
  });
  return list;
}

std::string sentence(const CompareReport& r) {
  std::vector<std::string> parts;
  const auto part = [&](std::string_view what, double a, double b) {
    if (a > 0 && std::abs(b / a - 1) >= kSame)
      parts.push_back(fmt::format("{} {} {}", times(b / a), b > a ? "more" : "fewer", what));
  };
  part("nodes", double(r.a.totals.nodes), double(r.b.totals.nodes));
  part("parameters", double(r.a.totals.parameters), double(r.b.totals.parameters));
  part("multiply-accumulates", double(r.a.totals.macs), double(r.b.totals.macs));
  part("bytes to move", double(r.a.totals.bytes_moved), double(r.b.totals.bytes_moved));
  if (parts.empty()) return r.operators.empty() ? "The same operators and sizes." : "The same sizes, other operators.";
  return fmt::format("B has {}.", fmt::join(parts, ", "));
}

void write_side(JsonWriter& json, std::string_view key, const std::string& title, const InspectReport& report) {
  const Totals& t = report.totals;
  json.key(key).begin_object().field("title", title).field("name", report.name).field("format", report.format);
  json.field("batch", report.batch).field("nodes", t.nodes).field("parameters", t.parameters);
  json.field("macs", t.macs).field("flops", t.flops).field("bytes_moved", t.bytes_moved);
  write_tensors(json, "inputs", report.inputs);
  write_tensors(json, "outputs", report.outputs);
  json.end_object();
}

}  // namespace

Result<CompareReport> compare_networks(const Service& service, const Request& request, const std::string& other) {
  Request second = request;
  second.model = other;
  second.network = nullptr;
  CompareReport report;
  FORERUN_TRY(report.a, service.inspect(request));
  FORERUN_TRY(report.b, service.inspect(second));
  report.title_a = request.model;
  report.title_b = other;
  report.operators = operator_differences(report.a.totals, report.b.totals);
  report.text = sentence(report);
  if (!request.devices.empty()) {
    Request first = request;
    first.all_kernels = second.all_kernels = true;
    FORERUN_TRY(const PredictReport a, service.predict(first));
    FORERUN_TRY(const PredictReport b, service.predict(second));
    for (std::size_t i = 0; i < a.results.size(); ++i) {
      if (!a.results[i].estimates.contains(Metric::Latency) || !b.results[i].estimates.contains(Metric::Latency)) {
        report.warnings.push_back(a.results[i].device + ": one of both is not estimated");
        continue;
      }
      report.devices.push_back(compare_on(a.results[i], b.results[i]));
    }
  }
  for (const auto* side : {&report.a, &report.b}) {
    for (const std::string& warning : side->warnings) {
      if (std::find(report.warnings.begin(), report.warnings.end(), warning) == report.warnings.end())
        report.warnings.push_back(warning);
    }
  }
  return report;
}

std::string to_json(const CompareReport& report) {
  JsonWriter json;
  json.begin_object().field("text", report.text);
  write_side(json, "a", report.title_a, report.a);
  write_side(json, "b", report.title_b, report.b);
  json.key("operators").begin_array();
  for (const OperatorDifference& row : report.operators)
    json.begin_object().field("operator", row.name).field("a", row.count_a).field("b", row.count_b).end_object();
  json.end_array().key("devices").begin_array();
  for (const DeviceComparison& on : report.devices) {
    json.begin_object().field("device", on.device).field("text", on.text);
    json.key("latency_ms").begin_object().field("a", on.a.value).field("b", on.b.value);
    json.field("ratio", on.b.value / on.a.value).end_object().key("kernels").begin_array();
    for (const KindDifference& kind : on.kinds) {
      json.begin_object().field("operators", kind.kind).field("a", kind.count_a).field("b", kind.count_b);
      json.field("a_ms", kind.ms_a).field("b_ms", kind.ms_b).field("difference_ms", kind.difference_ms()).end_object();
    }
    json.end_array().end_object();
  }
  return json.end_array().texts("warnings", report.warnings).end_object().take();
}

}  // namespace forerun
