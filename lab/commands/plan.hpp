// A plan: what `forerun-lab measure` runs, in order.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "records/measurement.hpp"

namespace forerun {

struct PlanRow {
  std::string id;
  std::string mode;
  nlohmann::ordered_json request;  // sent to the worker as it is
};

struct Plan {
  std::string campaign;  // empty when the plan does not say
  std::string license;
  std::vector<PlanRow> rows;
};

// Either JSON lines, one request per line, or one object {"campaign", "license", "defaults": {…}, "rows": [{…}, …]}
// whose defaults are added to rows that lack them. Every row needs a unique "id" and a "mode".
Result<Plan> read_plan(const std::string& path);
Result<Plan> parse_plan(std::string_view text, const std::string& name);

// What the plan says about a row: network, family, graph and settings. A generated network's parameters are the setting
// "spec", an operator's become separate settings.
[[nodiscard]] Measurement row_of_request(const nlohmann::ordered_json& request);

}  // namespace forerun
