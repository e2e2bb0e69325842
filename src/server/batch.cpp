#include "server/batch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/on_cores.hpp"
#include "server/api.hpp"

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

// The line without its "id", and the id as JSON text; empty where it has none.
std::pair<std::string, std::string> split_id(std::string_view line) {
  nlohmann::json request = nlohmann::json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("id")) return {std::string(line), ""};
  const nlohmann::json id = request["id"];
  if (id.is_structured()) return {std::string(line), ""};  // refused as an unknown key
  request.erase("id");
  return {request.dump(), id.dump()};
}

std::string answer_line(std::string_view line, std::size_t number,
                        const std::function<Result<std::string>(std::string_view)>& ask) {
  const auto [request, id] = split_id(line);
  const Result<std::string> report = ask(request);
  const std::string answer = report ? *report
                                    : nlohmann::json{{"error",
                                                      {{"message", report.error().message},
                                                       {"line", number},
                                                       {"status", status_of(report.error().kind)}}}}
                                          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return id.empty() ? answer : "{\"id\":" + id + "," + answer.substr(1);
}

}  // namespace

Result<std::string> answer_lines(std::string_view body,
                                 const std::function<Result<std::string>(std::string_view)>& ask) {
  struct Line {
    std::string_view request;
    std::size_t number;
    std::string answer;
  };
  std::vector<Line> asked;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(body)) {
    ++number;
    if (!is_blank(line)) asked.push_back({line, number, {}});
  }
  if (asked.empty()) return bad_input("the body has no line; send one JSON request per line");
  if (asked.size() > kMostLines)
    return Error{ErrorKind::TooLarge, fmt::format("{} lines in one body; at most {}", asked.size(), kMostLines)};
  on_cores(asked.size(),
           [&](std::size_t i) { asked[i].answer = answer_line(asked[i].request, asked[i].number, ask) + "\n"; });
  std::string answers;
  for (const Line& line : asked) answers += line.answer;
  return answers;
}

}  // namespace forerun::server
