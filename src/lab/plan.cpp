#include "lab/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/compressed_file.hpp"

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMaxPlanBytes = std::size_t{256} << 20;

Status add_row(Plan& plan, std::set<std::string>& ids, Json request, const std::string& where) {
  if (!request.is_object()) return bad_input(where + ": not a JSON object");
  const auto text = [&](const char* name) -> Result<std::string> {
    if (!request.contains(name)) return bad_input(fmt::format("{}: no \"{}\"", where, name));
    const Json& value = request[name];
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      return bad_input(fmt::format("{}: \"{}\" must be a text", where, name));
    }
    return value.get<std::string>();
  };
  PlanRow row;
  FORERUN_TRY(row.id, text("id"));
  FORERUN_TRY(row.mode, text("mode"));
  if (!ids.insert(row.id).second) return bad_input(fmt::format("{}: the id '{}' is used twice", where, row.id));
  row.request = std::move(request);
  plan.rows.push_back(std::move(row));
  return ok();
}

Result<Plan> parse_object(Json& json, const std::string& name) {
  Plan plan;
  for (const auto& [key, value] : json.items()) {
    if (key != "campaign" && key != "license" && key != "defaults" && key != "rows" && key != "note") {
      return bad_input(fmt::format("{}: '{}' is not a field of a plan (campaign, license, defaults, rows, note)", name, key));
    }
  }
  if (!json.contains("rows") || !json["rows"].is_array()) return bad_input(name + ": no list of \"rows\"");
  for (const auto& [key, into] : {std::pair("campaign", &plan.campaign), std::pair("license", &plan.license)}) {
    if (!json.contains(key)) continue;
    if (!json[key].is_string()) return bad_input(fmt::format("{}: \"{}\" must be a text", name, key));
    *into = json[key].get<std::string>();
  }
  const Json defaults = json.value("defaults", Json::object());
  if (!defaults.is_object()) return bad_input(name + ": \"defaults\" must be an object");
  std::set<std::string> ids;
  std::size_t number = 0;
  for (Json& request : json["rows"]) {
    ++number;
    if (request.is_object()) {
      for (const auto& [key, value] : defaults.items()) {
        if (!request.contains(key)) request[key] = value;
      }
    }
    FORERUN_CHECK(add_row(plan, ids, std::move(request), fmt::format("{}: row {}", name, number)));
  }
  return plan;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

}  // namespace

Result<Plan> parse_plan(std::string_view text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return bad_input(name + ": the plan is empty");
  Json whole = Json::parse(text, nullptr, false);
  if (whole.is_object() && !whole.contains("id")) {
    FORERUN_TRY(Plan plan, parse_object(whole, name));
    if (plan.rows.empty()) return bad_input(name + ": the plan has no rows");
    return plan;
  }
  Plan plan;
  std::set<std::string> ids;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}: line {}", name, line_number);
    Json request = Json::parse(line, nullptr, false);
    if (request.is_discarded()) return bad_input(where + ": not JSON (a plan is one object with \"rows\", or one object per line)");
    FORERUN_CHECK(add_row(plan, ids, std::move(request), where));
  }
  return plan;
}

Result<Plan> read_plan(const std::string& path) {
  FORERUN_TRY(const std::string text, read_compressed(path, kMaxPlanBytes));
  return parse_plan(text, path);
}

Measurement row_of_request(const Json& request) {
  Measurement row;
  const auto take = [&](const Json& value, std::string& into) {
    if (value.is_string()) into = value.get<std::string>();
  };
  for (const auto& [key, value] : request.items()) {
    if (key == "id" || key == "group" || key == "note" || value.is_null()) continue;
    if (key == "family") take(value, row.family);
    if (key == "graph" || key == "config") take(value, row.graph);
    if (key == "network" || key == "name") {
      take(value, row.network);
      if (value.is_object() && value.contains("name")) take(value["name"], row.network);
      if (value.is_object() && value.contains("family")) take(value["family"], row.family);
    }
    if (value.is_object()) {
      for (const auto& [inner, content] : value.items()) {
        if (!content.is_null()) row.settings.try_emplace(inner, text_of(content));
      }
    } else if (key != "family" && key != "graph" && key != "network") {
      row.settings[key] = text_of(value);
    }
  }
  const auto op = row.settings.find("op");
  if (row.network.empty() && op != row.settings.end()) {
    row.network = op->second;
    row.family = "operator";
  }
  return row;
}

}  // namespace forerun
