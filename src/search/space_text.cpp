#include "search/space_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr int kMaxDepth = 32;

struct Line {
  std::size_t number = 0, indent = 0;
  std::string_view text;  // without indentation, comment and spaces at the end
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The end of a quoted text that begins at `at`: after its quote, or npos.
std::size_t end_of_quotes(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// Position of the first of `wanted` outside quotes and brackets; npos when there is none.
template <typename Wanted>
std::size_t find_outside(std::string_view text, const Wanted& wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_quotes(text, i);
      if (end == std::string_view::npos) return end;
      i = end - 1;
      continue;
    }
    if (depth == 0 && wanted(i)) return i;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
  }
  return std::string_view::npos;
}

std::string_view without_comment(std::string_view text) {
  const std::size_t at =
      find_outside(text, [&](std::size_t i) { return text[i] == '#' && (i == 0 || text[i - 1] == ' '); });
  return trimmed(text.substr(0, at));
}

// The colon that ends a key.
std::size_t find_colon(std::string_view text) {
  return find_outside(text,
                      [&](std::size_t i) { return text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' '); });
}

class Yaml {
 public:
  Yaml(std::string_view text, const std::string& what) : what_(what) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
      const std::string_view rest = without_comment(line.substr(indent));
      if (!rest.empty() && rest != "---") lines_.push_back({number, indent, rest});
      text.remove_prefix(std::min(text.size(), end + 1));
    }
  }

  Result<Json> read() {
    if (lines_.empty()) return bad_input(what_ + ": the file is empty");
    FORERUN_TRY(Json json, block(lines_.front().indent, 0));
    if (at_ < lines_.size()) return wrong("is indented less than what comes before it");
    return json;
  }

 private:
  [[nodiscard]] Error wrong(const std::string& why) const {
    const std::size_t number = lines_[std::min(at_, lines_.size() - 1)].number;
    return bad_input(what_ + ": line " + std::to_string(number) + " " + why);
  }
  static bool is_item(std::string_view text) { return text == "-" || text.substr(0, 2) == "- "; }

  Result<Json> block(std::size_t indent, int depth) {
    if (depth > kMaxDepth) return wrong("is nested too deeply");
    return is_item(lines_[at_].text) ? list(indent, depth) : mapping(indent, depth);
  }

  Result<Json> list(std::size_t indent, int depth) {
    Json out = Json::array();
    while (at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text)) {
      Line& line = lines_[at_];
      const std::string_view rest = trimmed(line.text.substr(1));
      if (rest.empty()) {
        ++at_;
        FORERUN_TRY(Json value, nested(indent, depth));
        out.push_back(std::move(value));
      } else if (is_item(rest) ||
                 (rest.front() != '{' && rest.front() != '[' && find_colon(rest) != std::string_view::npos)) {
        line.indent += line.text.size() - rest.size();  // the item's own block begins on this line
        line.text = rest;
        FORERUN_TRY(Json value, block(line.indent, depth + 1));
        out.push_back(std::move(value));
      } else {
        FORERUN_TRY(Json value, inline_value(rest, depth));
        out.push_back(std::move(value));
        ++at_;
      }
    }
    return out;
  }

  Result<Json> mapping(std::size_t indent, int depth) {
    Json out = Json::object();
    while (at_ < lines_.size() && lines_[at_].indent == indent && !is_item(lines_[at_].text)) {
      const std::string_view text = lines_[at_].text;
      const std::size_t colon = find_colon(text);
      if (colon == std::string_view::npos) return wrong("has no 'key: value'");
      FORERUN_TRY(const Json key, scalar(trimmed(text.substr(0, colon))));
      const std::string name = key.is_string() ? key.get<std::string>() : std::string(trimmed(text.substr(0, colon)));
      if (out.contains(name)) return wrong("gives '" + name + "' a second time");
      const std::string_view rest = trimmed(text.substr(colon + 1));
      if (!rest.empty()) {
        FORERUN_TRY(Json value, inline_value(rest, depth));
        out[name] = std::move(value);
        ++at_;
        continue;
      }
      ++at_;
      FORERUN_TRY(Json value, nested(indent, depth));
      out[name] = std::move(value);
    }
    if (at_ < lines_.size() && lines_[at_].indent > indent) return wrong("is indented more than its neighbours");
    return out;
  }

  // What stands below a key or a dash; a list may begin at the key's own column.
  Result<Json> nested(std::size_t indent, int depth) {
    if (at_ >= lines_.size()) return Json(nullptr);
    const Line& line = lines_[at_];
    if (line.indent > indent || (line.indent == indent && is_item(line.text))) return block(line.indent, depth + 1);
    return Json(nullptr);
  }

  Result<Json> inline_value(std::string_view text, int depth) {
    if (depth > kMaxDepth) return wrong("is nested too deeply");
    if (text.front() != '[' && text.front() != '{') return scalar(text);
    const bool is_list = text.front() == '[';
    if (text.back() != (is_list ? ']' : '}')) return wrong("opens a bracket that does not end on the line");
    Json out = is_list ? Json::array() : Json::object();
    std::string_view rest = trimmed(text.substr(1, text.size() - 2));
    while (!rest.empty()) {
      const std::size_t comma = find_outside(rest, [&](std::size_t i) { return rest[i] == ','; });
      const std::string_view part = trimmed(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view{} : trimmed(rest.substr(comma + 1));
      if (part.empty()) return wrong("has an empty place between commas");
      if (is_list) {
        FORERUN_TRY(Json value, inline_value(part, depth + 1));
        out.push_back(std::move(value));
        continue;
      }
      const std::size_t colon = find_outside(part, [&](std::size_t i) { return part[i] == ':'; });
      if (colon == std::string_view::npos || trimmed(part.substr(colon + 1)).empty())
        return wrong("has no 'key: value' in braces");
      FORERUN_TRY(const Json key, scalar(trimmed(part.substr(0, colon))));
      FORERUN_TRY(Json value, inline_value(trimmed(part.substr(colon + 1)), depth + 1));
      out[key.is_string() ? key.get<std::string>() : key.dump()] = std::move(value);
    }
    return out;
  }

  Result<Json> scalar(std::string_view text) {
    if (text.empty()) return Json(nullptr);
    const char first = text.front();
    if (first == '"') {
      Json value = Json::parse(text, nullptr, false);
      if (!value.is_string()) return wrong("has a text whose quotes do not end");
      return value;
    }
    if (first == '\'') {
      if (text.size() < 2 || end_of_quotes(text, 0) != text.size()) return wrong("has a text whose quotes do not end");
      return Json(std::string(text.substr(1, text.size() - 2)));
    }
    if (std::string_view("&*!|>%@`").find(first) != std::string_view::npos)
      return wrong(std::string("begins a value with '") + first + "', a part of YAML that is not read; quote it");
    if (text == "true" || text == "false") return Json(text == "true");
    if (text == "null" || text == "~") return Json(nullptr);
    std::int64_t whole = 0;
    if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
        error == std::errc{} && end == text.data() + text.size())
      return Json(whole);
    double real = 0;
    if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
        error == std::errc{} && end == text.data() + text.size() && std::isfinite(real))
      return Json(real);
    return Json(std::string(text));
  }

  const std::string& what_;
  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

}  // namespace

Result<nlohmann::ordered_json> parse_space_text(std::string_view text, const std::string& what) {
  if (text.size() > kMaxBytes) return Error{ErrorKind::TooLarge, what + ": larger than 16 MiB"};
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    int depth = 0, deepest = 0;
    for (const char c : text) {
      if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
      if (c == ']' || c == '}') --depth;
    }
    if (deepest > 1024) return bad_input(what + ": nested too deeply");
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return bad_input(what + ": not JSON, although it begins with '{'");
    return json;
  }
  if (text.find('\t') != std::string_view::npos) return bad_input(what + ": YAML is indented by spaces, not by tabs");
  return Yaml(text, what).read();
}

}  // namespace forerun
