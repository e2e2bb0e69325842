#include "server/batch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/on_cores.hpp"
#include "service/json.hpp"

namespace forerun::server {
namespace {

std::vector<std::string_view> lines_of(std::string_view body) {
  std::vector<std::string_view> lines;
  while (!body.empty()) {
    const std::size_t end = body.find('\n');
    lines.push_back(body.substr(0, end));
    body = end == std::string_view::npos ? std::string_view() : body.substr(end + 1);
  }
  return lines;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// The id of a line, as JSON text; empty where it has none.
std::string id_of(std::string_view line) {
  const nlohmann::json request = nlohmann::json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("id")) return "";
  const nlohmann::json& id = request["id"];
  return id.is_string() || id.is_number() ? id.dump() : "";
}

}  // namespace

Result<std::string> answer_lines(std::string_view body,
                                 const std::function<Result<std::string>(std::string_view)>& ask) {
  struct Line {
    std::string_view request;
    std::int64_t number;
    std::string answer;
  };
  std::vector<Line> asked;
  std::int64_t number = 0;
  for (const std::string_view line : lines_of(body)) {
    ++number;
    if (!is_blank(line)) asked.push_back({line, number, {}});
  }
  if (asked.empty()) return bad_input("the body has no line; send one JSON request per line");
  if (asked.size() > kMostLines)
    return Error{ErrorKind::TooLarge, fmt::format("{} lines in one body; at most {}", asked.size(), kMostLines)};
  on_cores(asked.size(), [&](std::size_t i) {
    const Result<std::string> report = ask(asked[i].request);
    asked[i].answer = report ? *report : error_json(report.error(), id_of(asked[i].request), asked[i].number);
  });
  std::string answers;
  for (const Line& line : asked) answers += line.answer + '\n';
  return answers;
}

}  // namespace forerun::server
