#include "devices/device_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace forerun {
namespace {

constexpr std::size_t kMostText = 512;

bool is_plain(const std::string& text) {
  return text.size() <= kMostText &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

std::optional<double> parse_capability(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && value >= 1 && value < 100 ? std::optional(value) : std::nullopt;
}

const DeviceFields::Json* DeviceFields::find(std::string_view key) {
  asked_.emplace(key);
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

std::string DeviceFields::text(std::string_view key, bool is_needed) {
  const Json* value = find(key);
  if (value == nullptr) {
    if (is_needed) problem(fmt::format("'{}' is missing", key));
    return {};
  }
  if (!value->is_string() || (is_needed && value->get_ref<const std::string&>().empty())) {
    problem(fmt::format("'{}' must be a text", key));
    return {};
  }
  if (!is_plain(value->get_ref<const std::string&>())) {
    problem(fmt::format("'{}' must be one line of at most {} bytes", key, kMostText));
    return {};
  }
  return value->get<std::string>();
}

std::vector<std::string> DeviceFields::texts(std::string_view key) {
  std::vector<std::string> list;
  const Json* value = child(key, Json::value_t::array);
  if (value == nullptr) return list;
  for (const Json& one : *value) {
    if (!one.is_string() || !is_plain(one.get_ref<const std::string&>())) {
      problem(fmt::format("'{}' must be a list of one-line texts", key));
      return {};
    }
    list.push_back(one.get<std::string>());
  }
  return list;
}

std::optional<double> DeviceFields::checked(const std::string& name, const Json& value, const FigureRange& range) {
  const double number = value.is_number() ? value.get<double>() : 0;
  if (!(number > 0)) {
    problem(fmt::format("'{}' must be a positive number", name));
  } else if (!(number >= range.least && number <= range.most)) {
    problem(fmt::format("'{}' is {:g}: it must lie in {:g} … {:g}", name, number, range.least, range.most));
  } else if (range.is_whole && number != std::floor(number)) {
    problem(fmt::format("'{}' is {:g}: it must be a whole number", name, number));
  } else {
    return number;
  }
  return std::nullopt;
}

std::optional<double> DeviceFields::number(std::string_view key, const FigureRange& range) {
  const Json* value = find(key);
  return value == nullptr ? std::nullopt : checked(std::string(key), *value, range);
}

std::map<std::string, double> DeviceFields::rates(std::string_view key, std::span<const std::string_view> known,
                                                  const FigureRange& range) {
  std::map<std::string, double> rates;
  const Json* value = child(key, Json::value_t::object);
  if (value == nullptr) return rates;
  for (const auto& [name, rate] : value->items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      problem(fmt::format("'{}.{}' is no number format; known: {}", key, name, fmt::join(known, ", ")));
    } else if (const auto number = checked(fmt::format("{}.{}", key, name), rate, range)) {
      rates[name] = *number;
    }
  }
  return rates;
}

const DeviceFields::Json* DeviceFields::child(std::string_view key, Json::value_t type) {
  const Json* value = find(key);
  if (value == nullptr || value->type() == type) return value;
  problem(fmt::format("'{}' must be {}", key, type == Json::value_t::array ? "a list" : "an object"));
  return nullptr;
}

void DeviceFields::finish() {
  for (const auto& [key, value] : object_.items()) {
    if (!asked_.contains(key)) problem(fmt::format("unknown key '{}'", key.substr(0, kMostText)));
  }
}

}  // namespace forerun
