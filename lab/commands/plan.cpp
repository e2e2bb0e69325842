#include "commands/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

#include "base/archive.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
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
      return bad_input(
          fmt::format("{}: '{}' is not a field of a plan (campaign, license, defaults, rows, note)", name, key));
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

// Fields that a measurement states elsewhere, or that nothing reads afterwards.
constexpr std::array<std::string_view, 7> kNotSettings = {"id", "group", "note", "family", "graph", "model", "name"};

// The first of these fields that is a text; empty when there is none.
std::string first_text(const Json& object, std::initializer_list<const char*> names) {
  if (!object.is_object()) return {};
  for (const char* name : names) {
    if (object.contains(name) && object[name].is_string()) return object[name].get<std::string>();
  }
  return {};
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
    if (request.is_discarded())
      return bad_input(where + ": not JSON (a plan is one object with \"rows\", or one object per line)");
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
  for (const auto& [key, value] : request.items()) {
    if (value.is_null() || std::ranges::count(kNotSettings, key) != 0) continue;
    if (key == "operator" && value.is_object()) {
      for (const auto& [name, parameter] : value.items()) row.settings[name] = text_of(parameter);
    } else if (key == "network" && value.is_object()) {
      row.settings["spec"] = value.dump();
    } else if (key == "settings") {
      row.settings["measuring"] = value.dump();
    } else {
      row.settings[key] = text_of(value);
    }
  }
  const Json network = request.value("network", Json::object());
  row.graph = first_text(request, {"graph", "config"});
  row.family = first_text(request, {"family"});
  row.network = first_text(request, {"model", "name", "network"});
  if (row.family.empty()) row.family = first_text(network, {"family"});
  if (row.network.empty()) row.network = first_text(network, {"name"});
  if (network.is_object() && network.contains("config") && row.family.empty())
    row.family = first_text(network["config"], {"model_type"});
  const std::string mode = first_text(request, {"mode"});
  if (mode == "operator") {
    row.family = "operator";
    row.network = row.settings.contains("op") ? row.settings["op"] : mode;
  } else {
    row.settings["training"] = mode == "training" ? "true" : "false";
    row.settings.try_emplace("phase", "forward");
  }
  const std::string file = first_text(network, {"onnx", "torch_export"});
  if (row.network.empty()) row.network = fs::path(file).stem().string();
  if (row.graph.empty()) row.graph = fs::path(file).filename().string();
  // Rows of one generated network share the first part of their ids: "n0175.b4.fp32".
  const std::string id = first_text(request, {"id"});
  if (row.network.empty()) row.network = id.substr(0, id.find('.'));
  return row;
}

}  // namespace forerun
