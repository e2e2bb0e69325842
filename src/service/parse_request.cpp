// JSON requests: one object, keys from the option table.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/json_keys.hpp"
#include "devices/catalogue.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/json_text.hpp"
#include "readers/networks.hpp"
#include "readers/printable.hpp"
#include "readers/spaces/spaces_reader.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxRequestBytes = 4 << 20;

std::string key_of(std::string_view option) {
  std::string key(option);
  for (char& c : key) c = c == '-' ? '_' : c;
  return key;
}

// The option that a key names: "dims" and "devices" are other words for their singular.
const Option* find_option(const std::string& key) {
  for (const Option& option : all_options()) {
    const std::string name = key_of(option.name);
    const bool is_plural = option.kind == OptionKind::Dims || option.kind == OptionKind::List;
    if (name == key || (is_plural && key == name + "s")) return &option;
  }
  return nullptr;
}

Result<std::string> scalar_text(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::abs(number) < 1e15 && number == double(std::int64_t(number))) return std::to_string(std::int64_t(number));
    return Json(number).dump();
  }
  return bad_input(in_quotes(key) + ": expected a number or a text");
}

// A number, or the list of a shape: "2x16".
Result<std::string> entry_text(const std::string& key, const Option& option, const Json& value) {
  if (option.kind != OptionKind::Shapes || !value.is_array()) return scalar_text(key, value);
  std::string text;
  for (const Json& size : value) {
    FORERUN_TRY(const std::string one, scalar_text(key, size));
    text += (text.empty() ? "" : "x") + one;
  }
  return text;
}

Status apply_option(const Option& option, const std::string& key, const Json& value, Request& request) {
  if (value.is_null()) return ok();
  switch (option.kind) {
    case OptionKind::Flag:
      if (!value.is_boolean()) return bad_input("'" + key + "': expected true or false");
      return value.get<bool>() ? option.apply(request, "") : ok();
    case OptionKind::Dims:
    case OptionKind::Shapes:
      if (!value.is_object()) return bad_input("'" + key + "': expected an object of names and numbers");
      for (const auto& [name, number] : value.items()) {
        FORERUN_TRY(const std::string text, entry_text(key, option, number));
        FORERUN_CHECK(option.apply(request, name + "=" + text));
      }
      return ok();
    case OptionKind::List:
      if (value.is_array()) {
        for (const Json& entry : value) {
          if (!entry.is_string()) return bad_input("'" + key + "': expected a list of strings");
          FORERUN_CHECK(option.apply(request, entry.get<std::string>()));
        }
        return ok();
      }
      [[fallthrough]];
    default: {
      FORERUN_TRY(const std::string text, scalar_text(key, value));
      return option.apply(request, text);
    }
  }
}

Status take_config(const Json& config, Request& request) {
  if (!config.is_object()) return bad_input("'config': expected an object");
  FORERUN_TRY(auto network, is_candidate(config) ? make_candidate(config, "config")
                                                 : make_huggingface_network(config, "config", "huggingface"));
  request.network = std::move(network);
  for (const char* field : {"_name_or_path", "model_type"}) {
    const auto name = config.find(field);
    if (request.model.empty() && name != config.end() && name->is_string()) request.model = name->get<std::string>();
  }
  if (request.model.empty()) request.model = "config";
  return ok();
}

// A device's own figures: what a device file holds. It is the device asked about where none is named.
Result<std::string> take_device(const Json& spec, Request& request) {
  if (!spec.is_object()) return bad_input("'device_spec': expected an object, the content of a device file");
  request.device_spec = spec.dump();
  FORERUN_TRY(const Device device, parse_device(request.device_spec, "device_spec"));
  return device.id;
}

// Python writes NaN and Infinity into JSON. In a configuration they read as null, as its own programs mean them; as the
// value of an option they mean nothing. The option's key, or empty.
std::string_view find_special_number(std::string_view text) {
  std::string_view key;
  int depth = 0;
  bool is_key = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t start = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (depth == 1 && is_key) key = text.substr(start, i - start);
      is_key = false;
    } else if (c == '{' || c == '[') {
      is_key = ++depth == 1;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 1) {
      is_key = true;
    } else if ((c == 'N' || c == 'I') && key != "config") {
      return key;
    }
  }
  return {};
}

// A distribution of lengths: {"mean": 1000, "cv": 0.5}.
Status apply_length(const std::string& key, const Json& value, Request& request) {
  const bool is_input = key == "input_tokens";
  for (const auto& [name, number] : value.items()) {
    if (name != "mean" && name != "cv")
      return bad_input("'" + key + "': unknown key '" + name + "'; it has mean and cv");
    FORERUN_TRY(const std::string text, scalar_text(key, number));
    if (name == "cv" && text == "0") continue;
    const std::string option = name == "mean" ? key : is_input ? "input_cv" : "output_cv";
    FORERUN_CHECK(find_option(option)->apply(request, text));
  }
  return ok();
}

// A trace in the request itself: [[seconds, input tokens, output tokens], …].
Status apply_trace(const Json& value, Request& request) {
  for (const Json& row : value) {
    const std::string where = "'trace': row " + std::to_string(request.trace_rows.size() + 1);
    const bool is_row = row.is_array() && row.size() == 3 &&
                        std::all_of(row.begin(), row.end(), [](const Json& number) { return number.is_number(); });
    if (!is_row) return bad_input(where + " is not [seconds, input tokens, output tokens]");
    FORERUN_CHECK(
        add_trace_row(row[0].get<double>(), row[1].get<double>(), row[2].get<double>(), where, request.trace_rows));
  }
  return request.trace_rows.empty() ? bad_input("'trace': has no rows") : ok();
}

// Serving's options that are objects or lists in JSON. Returns whether it was one.
Result<bool> apply_serving_object(const std::string& key, const Json& value, Request& request) {
  if (key == "trace" && value.is_array()) {
    FORERUN_CHECK(apply_trace(value, request));
    return true;
  }
  if (!value.is_object()) return false;
  if (key == "input_tokens" || key == "output_tokens") {
    FORERUN_CHECK(apply_length(key, value, request));
    return true;
  }
  if (key != "disaggregated") return false;
  const std::string prefill = value.value("prefill", Json()).dump(), decode = value.value("decode", Json()).dump();
  FORERUN_CHECK(find_option("disaggregated")->apply(request, prefill + "," + decode));
  return true;
}

}  // namespace

Result<Request> parse_request(std::string_view text, bool allow_paths) {
  FORERUN_TRY(const Json json, parse_json_text(text, "request", kMaxRequestBytes));
  if (!json.is_object()) return bad_input("the request is not a JSON object");
  if (const std::string_view key = find_special_number(text); !key.empty())
    return bad_input(in_quotes(key) + ": NaN and Infinity are not numbers of a request");
  if (const auto twice = find_duplicate_key(text, 1))
    return bad_input("the key " + in_quotes(*twice) + " stands twice");
  Request request;
  std::set<std::string_view> options;  // set so far
  std::string own_device;              // of device_spec
  for (const auto& [key, value] : json.items()) {
    if (key == "model" || key == "network") {  // "network": another word for a shipped one
      if (!value.is_string()) return bad_input("'" + key + "': expected a text");
      request.model = value.get<std::string>();
      if (!allow_paths && !is_shipped_network(request.model)) {
        return not_found(in_quotes(key) + ": " + in_quotes(request.model) +
                         " is not a shipped network; upload a file or name one of /v1/networks");
      }
      continue;
    }
    if (key == "id") {
      if (!value.is_string() && !value.is_number()) return bad_input("'id': expected a text or a number");
      request.id = value.dump();
      continue;
    }
    if (key == "config") {
      FORERUN_CHECK(take_config(value, request));
      continue;
    }
    if (key == "device_spec") {
      FORERUN_TRY(own_device, take_device(value, request));
      continue;
    }
    FORERUN_TRY(const bool is_serving_object, apply_serving_object(key, value, request));
    if (is_serving_object) continue;
    const Option* found = find_option(key);
    if (found == nullptr) return bad_input("unknown key " + in_quotes(key));
    if (!options.insert(found->name).second)
      return bad_input(in_quotes(key) + ": the option --" + std::string(found->name) + " is given twice");
    if (!allow_paths && (found->name == "device-file" || found->name == "store" || found->name == "trace")) {
      return bad_input("'" + key + "': files cannot be named in a request");
    }
    FORERUN_CHECK(apply_option(*found, key, value, request));
  }
  if (request.devices.empty() && !own_device.empty()) request.devices.push_back(own_device);
  return request;
}

}  // namespace forerun
