#include "store/export.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/csv.hpp"
#include "store/measurement_json.hpp"

namespace forerun {
namespace {

template <typename Map>
std::string text_in(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string{} : fmt::format("{}", found->second);
}

}  // namespace

Result<std::int64_t> export_csv(Store& store, const StoreFilter& filter, const TextSink& write) {
  std::set<std::string> settings;
  std::set<std::string> metrics;
  std::set<std::string> software;
  const auto collect = [&](const Measurement& row) -> Status {
    for (const auto& [name, value] : row.settings) settings.insert(name);
    for (const auto& [name, value] : row.metrics) metrics.insert(name);
    for (const auto& [name, value] : row.software) software.insert(name);
    return ok();
  };
  FORERUN_CHECK(store.visit(filter, collect));
  std::vector<std::string> header = {"campaign",      "row_id", "device", "network", "family",     "graph",
                                     "workload_hash", "status", "source", "license", "measured_at"};
  for (const std::string& name : settings) header.push_back("settings." + name);
  for (const std::string& name : metrics) header.push_back("metrics." + name);
  for (const std::string& name : software) header.push_back("software." + name);
  FORERUN_CHECK(write(csv_line(header)));
  std::int64_t rows = 0;
  const auto print = [&](const Measurement& row) -> Status {
    std::vector<std::string> fields = {row.campaign, row.row_id,  row.device,        row.network,
                                       row.family,   row.graph,   row.workload_hash, row.status,
                                       row.source,   row.license, row.measured_at};
    for (const std::string& name : settings) fields.push_back(text_in(row.settings, name));
    for (const std::string& name : metrics) fields.push_back(text_in(row.metrics, name));
    for (const std::string& name : software) fields.push_back(text_in(row.software, name));
    ++rows;
    return write(csv_line(fields));
  };
  FORERUN_CHECK(store.visit(filter, print));
  return rows;
}

Result<std::int64_t> export_json_lines(Store& store, const StoreFilter& filter, const TextSink& write) {
  std::int64_t rows = 0;
  const auto print = [&](const Measurement& row) -> Status {
    ++rows;
    return write(measurement_to_json(row) + "\n");
  };
  FORERUN_CHECK(store.visit(filter, print));
  return rows;
}

}  // namespace forerun
