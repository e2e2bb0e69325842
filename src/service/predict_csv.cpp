#include "service/predict_csv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.hpp"
#include "records/trust.hpp"

namespace forerun {
namespace {

using Row = std::vector<std::pair<std::string, std::string>>;  // key, cell

std::string cell(double value) { return fmt::format("{:.6g}", value); }

void add(Row& row, std::string_view key, const std::optional<double>& value) {
  row.emplace_back(key, value ? cell(*value) : "");
}

template <typename T>
std::string joined(const std::vector<T>& list, std::string T::*text) {
  std::string all;
  for (const T& entry : list) all += (all.empty() ? "" : "; ") + entry.*text;
  return all;
}

Row row_of(const PredictReport& report, const DeviceResult& result) {
  Row row = {{"device", result.device}};
  row.emplace_back("holds", (result.limits ? result.limits->holds() : result.advice.fits) ? "true" : "false");
  if (result.limits) {
    add(row, "probability", result.limits->probability);
    row.emplace_back("misses", joined(result.limits->misses, &Miss::reason));
    row.emplace_back("remedies", joined(result.limits->remedies, &Remedy::text));
  }
  for (const MetricSpec& spec : all_metrics()) {
    const bool is_asked = std::any_of(report.results.begin(), report.results.end(),
                                      [&](const DeviceResult& r) { return r.estimates.contains(spec.metric); });
    if (!is_asked) continue;
    const std::string key(spec.key);
    const Estimate* e = result.estimates.find(spec.metric);
    add(row, key, e == nullptr ? std::nullopt : std::optional(e->value));
    add(row, key + ".low", e == nullptr ? std::nullopt : std::optional(e->low));
    add(row, key + ".high", e == nullptr ? std::nullopt : std::optional(e->high));
    row.emplace_back(key + ".trust", e == nullptr ? "" : std::string(trust_of(*e, result.was_measured)));
  }
  const Advice& a = result.advice;
  row.emplace_back("fits", a.fits ? "true" : "false");
  row.emplace_back("mig", a.mig ? a.mig->profile : "");
  add(row, "usd_per_hour", a.usd_per_hour);
  add(row, "usd_per_million", a.usd_per_million);
  add(row, "co2_g_per_million", a.co2_g_per_million);
  return row;
}

}  // namespace

Result<std::string> to_csv(const PredictReport& report, const std::vector<std::string>& columns) {
  std::string text;
  for (const DeviceResult& result : report.results) {
    const Row row = row_of(report, result);
    std::vector<std::string> keys = columns;
    if (keys.empty()) {
      for (const auto& [key, value] : row) keys.push_back(key);
    }
    std::vector<std::string> cells;
    for (const std::string& key : keys) {
      const auto found = std::find_if(row.begin(), row.end(), [&](const auto& entry) { return entry.first == key; });
      if (found == row.end()) return bad_input("--columns: there is no column '" + key + "' (--csv alone shows them)");
      cells.push_back(found->second);
    }
    if (text.empty()) text = csv_line(keys);
    text += csv_line(cells);
  }
  return text;
}

}  // namespace forerun
