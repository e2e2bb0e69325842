#include "cli/defaults.hpp"

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.hpp"
#include "base/user_folder.hpp"
#include "readers/json_text.hpp"
#include "readers/printable.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

// One value, or nullopt for what no option takes.
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? std::optional(value.dump()) : std::nullopt;
}

std::optional<std::vector<std::string>> texts_of(const Option& option, const Json& value) {
  if (option.kind == OptionKind::Flag) {
    if (!value.is_boolean()) return std::nullopt;
    return value.get<bool>() ? std::vector<std::string>{""} : std::vector<std::string>{};
  }
  std::vector<std::string> texts;
  if (option.kind == OptionKind::Dims && value.is_object()) {
    for (const auto& [name, size] : value.items()) {
      const auto text = text_of(size);
      if (!text) return std::nullopt;
      texts.push_back(name + "=" + *text);
    }
    return texts;
  }
  for (const Json& entry : value.is_array() ? value : Json::array({value})) {
    const auto text = text_of(entry);
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return texts;
}

}  // namespace

Result<std::map<std::string, std::vector<std::string>>> read_defaults() {
  std::map<std::string, std::vector<std::string>> defaults;
  const std::filesystem::path path = user_folder() / "config.json";
  std::error_code error;
  if (user_folder().empty() || !std::filesystem::exists(path, error)) return defaults;
  const std::string name = path.string();
  FORERUN_TRY(const MappedFile file, MappedFile::open(name));
  FORERUN_TRY(const Json json, parse_json_text(file.bytes(), name));
  if (!json.is_object()) return bad_input(name + ": expected an object of options, as in {\"precision\": \"fp16\"}");
  for (const auto& [key, value] : json.items()) {
    std::string option = key;
    std::replace(option.begin(), option.end(), '_', '-');
    const auto rows = all_options();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Option& o) { return o.name == option; });
    if (row == rows.end())
      return bad_input(name + ": " + in_quotes(key) + " is no option (forerun help predict lists them)");
    const auto texts = texts_of(*row, value);
    if (!texts) return bad_input(name + ": " + in_quotes(key) + ": its value is of no kind that the option takes");
    if (!texts->empty()) defaults[option] = *texts;
  }
  return defaults;
}

}  // namespace forerun
