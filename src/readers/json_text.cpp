#include "readers/json_text.hpp"

namespace forerun {
namespace {

// Depth is checked on the text, before the parser recurses or builds anything.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::string without_special_numbers(std::string_view text) {
  std::string plain;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size())
      plain += text[i++];
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string) {
      std::size_t length = 0;
      for (const std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
        if (text.substr(i, word.size()) == word) length = word.size();
      }
      if (length > 0) {
        plain += length == 3 ? " null" : "null";  // another length in any case
        i += length - 1;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

}  // namespace

Result<Json> parse_json_text(std::string_view text, const std::string& what, std::size_t max_bytes) {
  if (text.size() > max_bytes)
    return Error{ErrorKind::TooLarge, what + ": JSON of more than " + std::to_string(max_bytes) + " bytes"};
  if (is_too_deep(text))
    return bad_input(what + ": JSON nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  Json parsed = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/false);
  if (parsed.is_discarded()) {
    // Python writes NaN and Infinity, which JSON has not: they read as null.
    const std::string plain = without_special_numbers(text);
    if (plain.size() != text.size()) parsed = Json::parse(plain, nullptr, false, false);
  }
  if (parsed.is_discarded()) return bad_input(what + ": not valid JSON");
  return parsed;
}

}  // namespace forerun
