// The files of edge platforms: JSON to EdgePlatform and back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/embedded.hpp"
#include "base/text_file.hpp"
#include "base/user_folder.hpp"
#include "predictors/edge/edge_platform.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_edge();  // data/edge

namespace {

using Json = nlohmann::json;

constexpr double kMost = 1e9;
constexpr std::array<std::string_view, 3> kSumNames = {"ms_per_gmac", "ms_per_mb", "ms_per_kernel"};

// A number of an object that is finite and not negative; `problem` otherwise.
double number_of(const Json& object, std::string_view key, std::string& problem) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number()) {
    const double value = found->get<double>();
    if (std::isfinite(value) && value >= 0 && value <= kMost) return value;
  }
  problem = "'" + std::string(key) + "' must be a number from 0 to 1e9";
  return 0;
}

EdgeRates read_rates(const Json& json, std::string& problem) {
  EdgeRates rates;
  const Json none = Json::object();
  const auto child = [&](const Json& of, std::string_view key) -> const Json& {
    const auto found = of.find(key);
    if (found != of.end() && found->is_object()) return *found;
    problem = "'" + std::string(key) + "' must be an object";
    return none;
  };
  if (!json.is_object()) {
    problem = "'rates' must hold objects by precision";
    return rates;
  }
  const Json& classes = child(json, "classes");
  for (std::size_t c = 0; c < kOperatorClasses && problem.empty(); ++c) {
    const Json& one = child(classes, kOperatorClassNames[c]);
    for (std::size_t s = 0; s < kSumNames.size() && problem.empty(); ++s)
      rates.ms[3 * c + s] = number_of(one, kSumNames[s], problem);
    if (problem.empty()) rates.most_share[c] = number_of(one, "most_share", problem);
  }
  const auto take = [&](std::string_view key, double& value) {
    if (problem.empty()) value = number_of(json, key, problem);
  };
  double networks = 0;
  take("ms_per_pass", rates.ms.back());
  take("half_width", rates.half_width);
  take("far_half_width", rates.far_half_width);
  take("least_gmacs", rates.least_gmacs);
  take("most_gmacs", rates.most_gmacs);
  take("networks", networks);
  rates.networks = std::int64_t(networks);
  if (problem.empty() && (rates.half_width > 10 || rates.far_half_width > 10))
    problem = "an interval wider than a factor of e^10";
  return rates;
}

}  // namespace

Result<EdgePlatform> parse_edge_platform(std::string_view text, const std::string& what) {
  const Json json = text.size() > (1U << 20) ? Json() : Json::parse(text, nullptr, false);
  if (!json.is_object()) return bad_input(what + ": not the JSON object of a platform");
  EdgePlatform platform;
  const auto word = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  platform.id = word("id"), platform.name = word("name"), platform.kind = word("kind");
  platform.description = word("description"), platform.source = word("source");
  platform.date = word("date"), platform.command = word("command");
  const bool is_id = !platform.id.empty() && platform.id.size() <= 64 &&
                     platform.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (!is_id || platform.name.empty())
    return bad_input(what + ": 'id' (small letters, digits, '-') or 'name' is missing");
  const auto rates = json.find("rates");
  if (rates == json.end() || !rates->is_object() || rates->empty()) return bad_input(what + ": there are no 'rates'");
  for (const auto& [key, value] : rates->items()) {
    const auto precision = parse_precision(key);
    if (!precision) return bad_input(what + ": 'rates' of an unknown precision");
    std::string problem;
    const EdgeRates read = read_rates(value, problem);
    if (!problem.empty()) return bad_input(what + ": " + problem);
    platform.rates.emplace(*precision, read);
  }
  return platform;
}

namespace {

nlohmann::ordered_json json_of(const EdgePlatform& platform) {
  const auto rounded = [](double value) { return std::stod(fmt::format("{:.5g}", value)); };
  nlohmann::ordered_json json = {{"id", platform.id},          {"name", platform.name},
                                 {"kind", platform.kind},      {"description", platform.description},
                                 {"source", platform.source},  {"date", platform.date},
                                 {"command", platform.command}};
  for (const auto& [precision, rates] : platform.rates) {
    nlohmann::ordered_json one = {{"networks", rates.networks},
                                  {"least_gmacs", rounded(rates.least_gmacs)},
                                  {"most_gmacs", rounded(rates.most_gmacs)},
                                  {"half_width", rounded(rates.half_width)},
                                  {"far_half_width", rounded(rates.far_half_width)},
                                  {"ms_per_pass", rounded(rates.ms.back())}};
    for (std::size_t c = 0; c < kOperatorClasses; ++c) {
      auto& row = one["classes"][std::string(kOperatorClassNames[c])];
      for (std::size_t s = 0; s < kSumNames.size(); ++s) row[std::string(kSumNames[s])] = rounded(rates.ms[3 * c + s]);
      row["most_share"] = rounded(rates.most_share[c]);
    }
    json["rates"][std::string(name_of(precision))] = std::move(one);
  }
  return json;
}

}  // namespace

std::string to_json(const EdgePlatform& platform) { return json_of(platform).dump(1) + "\n"; }
std::string to_json_line(const EdgePlatform& platform) { return json_of(platform).dump(); }

const EdgePlatform* EdgePlatforms::find(std::string_view id) const {
  for (const EdgePlatform& platform : platforms) {
    if (platform.id == id) return &platform;
  }
  return nullptr;
}

EdgePlatforms EdgePlatforms::shipped() {
  EdgePlatforms all;
  for (const EmbeddedFile& file : embedded_edge()) {
    auto platform = parse_edge_platform(file.bytes, std::string(file.name));
    if (platform) {
      all.platforms.push_back(std::move(*platform));
    } else {
      all.problems.push_back(platform.error().message);
    }
  }
  return all;
}

EdgePlatforms EdgePlatforms::load() {
  EdgePlatforms all = shipped();
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  if (const auto own = user_folder(); !own.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(own / "edge", ignored)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const auto text = read_text_file(file.string());
    auto platform = text ? parse_edge_platform(*text, file.filename().string()) : Result<EdgePlatform>(text.error());
    if (!platform) {
      all.problems.push_back(platform.error().message);
      continue;
    }
    std::erase_if(all.platforms, [&](const EdgePlatform& p) { return p.id == platform->id; });
    all.platforms.push_back(std::move(*platform));
  }
  return all;
}

}  // namespace forerun
