// JSON requests: one object, keys from the option table.
#include <cmath>

#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/json_text.hpp"
#include "readers/networks.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxRequestBytes = 4 << 20;

std::string key_of(std::string_view option) {
  std::string key(option);
  for (char& c : key) c = c == '-' ? '_' : c;
  return key;
}

Result<std::string> scalar_text(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_number_unsigned()) return std::to_string(value.get<std::int64_t>());
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == double(std::int64_t(number)) && std::abs(number) < 1e15) return std::to_string(std::int64_t(number));
    return Json(number).dump();
  }
  return bad_input("'" + key + "': expected a number or a text");
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

}  // namespace

Result<Request> parse_request(std::string_view text, bool allow_paths) {
  FORERUN_TRY(const Json json, parse_json_text(text, "request", kMaxRequestBytes));
  if (!json.is_object()) return bad_input("the request is not a JSON object");
  Request request;
  for (const auto& [key, value] : json.items()) {
    if (key == "model" || key == "network") {  // "network": another word for a shipped one
      if (!value.is_string()) return bad_input("'" + key + "': expected a text");
      request.model = value.get<std::string>();
      if (!allow_paths && !is_shipped_network(request.model)) {
        return not_found("'" + key + "': '" + request.model +
                         "' is not a shipped network; upload a file or name one of /v1/networks");
      }
      continue;
    }
    if (key == "config") {
      if (!value.is_object()) return bad_input("'config': expected an object");
      FORERUN_TRY(auto network, make_huggingface_network(value, "config", "huggingface"));
      request.network = std::move(network);
      for (const char* field : {"_name_or_path", "model_type"}) {
        const auto name = value.find(field);
        if (request.model.empty() && name != value.end() && name->is_string()) request.model = name->get<std::string>();
      }
      if (request.model.empty()) request.model = "config";
      continue;
    }
    const Option* found = nullptr;
    for (const Option& option : all_options()) {
      const std::string name = key_of(option.name);
      if (name == key || (option.kind == OptionKind::Dims && key == name + "s") ||
          (option.kind == OptionKind::List && key == name + "s"))
        found = &option;
    }
    if (found == nullptr) return bad_input("unknown key '" + key + "'");
    if (!allow_paths && (found->name == "device-file" || found->name == "store" || found->name == "trace")) {
      return bad_input("'" + key + "': files cannot be named in a request");
    }
    FORERUN_CHECK(apply_option(*found, key, value, request));
  }
  return request;
}

}  // namespace forerun
