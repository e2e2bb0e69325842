// Reads the fields of one JSON object of a device file. Remembers which keys were asked for, so that the others can be
// named as unknown, and the first thing that is wrong.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forerun {

struct FigureRange {
  double least, most;
  bool is_whole = false;
};

// "9.0" to 9; nullopt for anything else.
[[nodiscard]] std::optional<double> parse_capability(std::string_view text);

class DeviceFields {
 public:
  using Json = nlohmann::json;
  DeviceFields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

  // A text without control characters; empty when absent.
  std::string text(std::string_view key, bool is_needed = false);
  std::vector<std::string> texts(std::string_view key);
  // nullopt when absent or wrong.
  std::optional<double> number(std::string_view key, const FigureRange& range);
  // Rates by name; the names that exist are `known`.
  std::map<std::string, double> rates(std::string_view key, std::span<const std::string_view> known,
                                      const FigureRange& range);
  // The object or list under the key; nullptr when absent. Its content is the caller's to check.
  const Json* child(std::string_view key, Json::value_t type);
  // The object may have this key, whose value is not read here.
  void allow(std::string_view key) { asked_.emplace(key); }

  void problem(const std::string& what) {
    if (error_.empty()) error_ = place_ + ": " + what;
  }
  // A problem of a part, which names its place itself.
  void take_problem(const DeviceFields& part) {
    if (error_.empty()) error_ = part.error();
  }
  // Every key was asked for; the first one that was not is a problem.
  void finish();
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  const Json* find(std::string_view key);
  std::optional<double> checked(const std::string& name, const Json& value, const FigureRange& range);

  const Json& object_;
  std::string place_;
  std::string error_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace forerun
