#include "cli/predict_lines.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cli/fail.hpp"
#include "cli/interrupt.hpp"
#include "readers/json_text.hpp"
#include "service/json.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

constexpr std::size_t kLinesAtOnce = 512;
constexpr std::size_t kLinesPerThread = 4;  // minimum number of lines per thread

struct Line {
  std::string text;         // the request, then its answer
  std::int64_t number = 0;  // of the input, from 1
};

// The id of a request that could not be read otherwise.
std::string id_of(const std::string& text) {
  const auto json = parse_json_text(text, "request");
  if (!json || !json->is_object()) return "";
  const auto id = json->find("id");
  return id != json->end() && (id->is_string() || id->is_number()) ? id->dump() : "";
}

// Returns whether it was answered.
bool answer_line(const Service& service, Line& line, const CancelToken& cancel) {
  auto request = parse_request(line.text);
  if (!request) {
    line.text = error_json(request.error(), id_of(line.text), line.number);
    return false;
  }
  request->is_transient = request->network != nullptr;
  request->cancel = cancel;
  const auto report = service.predict(*request);
  line.text = report ? to_json(*report) : error_json(report.error(), request->id, line.number);
  return report.has_value();
}

// The lines available to read, at least one; empty at the end.
std::vector<Line> read_lines(std::istream& in, std::int64_t& number) {
  std::vector<Line> lines;
  std::string line;
  while (lines.size() < kLinesAtOnce && std::getline(in, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back({line, number});
    if (!lines.empty() && in.rdbuf()->in_avail() <= 0) break;
  }
  return lines;
}

}  // namespace

int predict_lines(const Service& service, std::istream& in, std::ostream& out, bool strict) {
  std::int64_t number = 0;
  std::atomic<bool> has_failed{false};
  for (std::vector<Line> lines = read_lines(in, number); !lines.empty(); lines = read_lines(in, number)) {
    const InterruptScope interrupts;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < lines.size(); i = next++) {
        if (!answer_line(service, lines[i], interrupts.token())) has_failed = true;
      }
    };
    {
      const std::size_t threads =
          std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), 1 + lines.size() / kLinesPerThread);
      std::vector<std::jthread> pool;  // joined at the end of this block
      for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
      work();
    }
    for (const Line& line : lines) out << line.text << "\n";
    out.flush();
    if (interrupts.token().stopped()) return kInterruptedStatus;
  }
  return strict && has_failed ? 2 : 0;
}

}  // namespace forerun
