#include "advice/carbon.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "advice/advice.hpp"
#include "base/embedded.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_carbon();  // data/carbon

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return result;
}

struct CarbonTable {
  Grid world;
  std::map<std::string, Grid> by_code;              // lower-case code -> grid
  std::multimap<std::string, std::string> by_name;  // lower-case name or bare region -> code
  std::vector<std::string> codes;
};

const CarbonTable& carbon_table() {
  static const CarbonTable kTable = [] {
    CarbonTable table;
    nlohmann::json json;
    for (const EmbeddedFile& file : embedded_carbon()) {
      if (file.name == "carbon.json") json = nlohmann::json::parse(file.bytes, nullptr, false);
    }
    if (!json.is_object()) return table;
    const auto pue = [&](const std::string& provider) {
      const auto& rows = json.at("pue");
      return rows.contains(provider) ? rows.at(provider) : rows.at("default");
    };
    const auto make = [&](const std::string& region, double intensity, const std::string& provider) {
      return Grid{region, intensity, pue(provider).value("pue", 1.0), pue(provider).value("source", "")};
    };
    table.world = make("world", json.at("world").value("g_per_kwh", 0.0), "default");
    for (const auto& [code, row] : json.at("countries").items()) {
      table.by_code[lower(code)] = make(code, row.value("g_per_kwh", 0.0), "default");
      table.by_name.emplace(lower(row.value("iso2", "")), lower(code));
      table.by_name.emplace(lower(row.value("name", "")), lower(code));
      table.codes.push_back(code);
    }
    for (const auto& [code, row] : json.at("regions").items()) {
      const std::size_t colon = code.find(':');
      table.by_code[lower(code)] = make(code, row.value("g_per_kwh", 0.0), code.substr(0, colon));
      if (colon != std::string::npos) table.by_name.emplace(lower(code.substr(colon + 1)), lower(code));
      table.codes.push_back(code);
    }
    return table;
  }();
  return kTable;
}

}  // namespace

Result<Grid> find_grid(std::string_view region) {
  const CarbonTable& table = carbon_table();
  const std::string wanted = lower(region);
  if (wanted.empty() || wanted == "world") return table.world;
  if (const auto found = table.by_code.find(wanted); found != table.by_code.end()) return found->second;
  const auto [first, last] = table.by_name.equal_range(wanted);
  if (first != last && std::next(first) == last) return table.by_code.at(first->second);
  std::string candidates;
  for (auto it = first; it != last; ++it) candidates += (candidates.empty() ? "" : ", ") + it->second;
  if (!candidates.empty())
    return bad_input("region '" + std::string(region) + "' is ambiguous; it may be: " + candidates);
  return not_found("unknown region '" + std::string(region) +
                   "'; use a country code (DEU), a cloud region (aws:eu-west-1) or 'world'");
}

double grams_per_joule(const Grid& grid, std::optional<double> pue) {
  return grid.g_per_kwh * pue.value_or(grid.pue) / 3.6e6;
}

// A million samples, or generated tokens where serving was asked for.
Status advise_carbon(const AdviceInput& input, Advice& advice, std::vector<std::string>&) {
  advice.region = input.grid.region;
  const Estimate* per_token = input.estimates.find(Metric::EnergyPerToken);
  const double joules =
      per_token != nullptr ? per_token->value : input.estimates.at(Metric::Energy).value / input.batch;
  advice.co2_g_per_million = joules * 1e6 * grams_per_joule(input.grid, input.options.pue);
  return ok();
}

std::vector<std::string> list_regions() { return carbon_table().codes; }

}  // namespace forerun
