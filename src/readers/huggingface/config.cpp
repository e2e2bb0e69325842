#include "readers/huggingface/config.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace forerun {

const Json* Config::find(std::string_view name) const {
  const auto it = object_->find(name);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool Config::states(std::string_view name) const { return object_->contains(name); }

bool Config::is_list(std::string_view name) const {
  const Json* field = find(name);
  return field != nullptr && field->is_array();
}

void Config::fail(std::string message) const {
  if (error_->empty()) *error_ = std::move(message);
}

std::int64_t Config::integer(Names names, std::int64_t fallback, std::int64_t low, std::int64_t high) const {
  for (const std::string_view name : names) {
    const Json* field = find(name);
    if (field == nullptr) continue;
    double value = 0;
    if (field->is_boolean())
      value = field->get<bool>() ? 1 : 0;
    else if (field->is_number())
      value = field->get<double>();
    else {
      fail("field '" + std::string(name) + "' is not a number");
      return fallback;
    }
    if (!(value >= double(low) && value <= double(high)) || value != std::floor(value)) {
      fail("field '" + std::string(name) + "' is " + field->dump() + ", outside " + std::to_string(low) + " … " +
           std::to_string(high));
      return fallback;
    }
    return static_cast<std::int64_t>(value);
  }
  return fallback;
}

std::int64_t Config::size(Names names, std::int64_t fallback) const {
  return integer(names, fallback, 1, kMaxConfigSize);
}

std::int64_t Config::layers(Names names, std::int64_t fallback) const {
  return integer(names, fallback, 0, kMaxLayers);
}

std::int64_t Config::count(Names names, std::int64_t fallback) const {
  for (const std::string_view name : names) {
    const Json* field = find(name);
    if (field == nullptr) continue;
    if (field->is_number() && field->get<double>() < 0) return 0;
    return integer({name}, fallback, 0, kMaxConfigSize);
  }
  return fallback;
}

double Config::real(std::string_view name, double fallback) const {
  const Json* field = find(name);
  if (field == nullptr) return fallback;
  if (!field->is_number() || !std::isfinite(field->get<double>())) {
    fail("field '" + std::string(name) + "' is not a number");
    return fallback;
  }
  return field->get<double>();
}

bool Config::flag(std::string_view name, bool fallback) const {
  const Json* field = find(name);
  if (field == nullptr) return fallback;
  if (field->is_boolean()) return field->get<bool>();
  if (field->is_number()) return field->get<double>() != 0;
  fail("field '" + std::string(name) + "' is neither true nor false");
  return fallback;
}

std::string Config::text(Names names, std::string_view fallback) const {
  for (const std::string_view name : names) {
    const Json* field = find(name);
    if (field == nullptr) continue;
    if (field->is_string()) return field->get<std::string>();
    fail("field '" + std::string(name) + "' is not a text");
    break;
  }
  return std::string(fallback);
}

std::vector<std::string> Config::texts(std::string_view name) const {
  std::vector<std::string> values;
  const Json* field = find(name);
  if (field == nullptr) return values;
  if (field->is_string()) return {field->get<std::string>()};
  if (!field->is_array() || field->size() > std::size_t(kMaxConfigSize)) {
    fail("field '" + std::string(name) + "' is not a list");
    return values;
  }
  for (const Json& item : *field) values.push_back(item.is_string() ? item.get<std::string>() : std::string());
  return values;
}

std::vector<std::int64_t> Config::integers(std::string_view name) const {
  std::vector<std::int64_t> values;
  const Json* field = find(name);
  if (field == nullptr) return values;
  if (!field->is_array() || field->size() > std::size_t(kMaxConfigSize)) {
    fail("field '" + std::string(name) + "' is not a list");
    return values;
  }
  for (const Json& item : *field) {
    const double value = item.is_boolean() ? double(item.get<bool>()) : item.is_number() ? item.get<double>() : -1.0;
    values.push_back(value >= 0 && value <= double(kMaxConfigSize) ? static_cast<std::int64_t>(value) : -1);
  }
  return values;
}

Config Config::sub(std::string_view name) const {
  static const Json kEmpty = Json::object();
  const Json* field = find(name);
  return {field != nullptr && field->is_object() ? *field : kEmpty, *error_};
}

double Config::rotary_share(double fallback, std::string_view old_name) const {
  double share = fallback;
  for (const Config& place : {*this, sub("rope_scaling"), sub("rope_parameters")}) {
    if (!old_name.empty()) share = place.real(old_name, share);
    share = place.real("partial_rotary_factor", share);
  }
  if (!(share >= 0 && share <= 1)) {
    fail("field 'partial_rotary_factor' is outside 0 … 1");
    return fallback;
  }
  return share;
}

}  // namespace forerun
