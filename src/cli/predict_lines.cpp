#include "cli/predict_lines.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cli/fail.hpp"
#include "cli/interrupt.hpp"
#include "service/json.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

constexpr std::size_t kLinesAtOnce = 512;
constexpr std::size_t kLinesPerThread = 4;  // minimum number of lines per thread

std::string answer_line(const Service& service, const std::string& line, const CancelToken& cancel) {
  auto request = parse_request(line);
  if (!request) return error_json(request.error().message);
  request->is_transient = request->network != nullptr;
  request->cancel = cancel;
  const auto report = service.predict(*request);
  return report ? to_json(*report) : error_json(report.error().message);
}

// The lines available to read, at least one; empty at the end.
std::vector<std::string> read_lines(std::istream& in) {
  std::vector<std::string> lines;
  std::string line;
  while (lines.size() < kLinesAtOnce && std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
    if (!lines.empty() && in.rdbuf()->in_avail() <= 0) break;
  }
  return lines;
}

}  // namespace

int predict_lines(const Service& service, std::istream& in, std::ostream& out) {
  for (std::vector<std::string> lines = read_lines(in); !lines.empty(); lines = read_lines(in)) {
    const InterruptScope interrupts;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < lines.size(); i = next++)
        lines[i] = answer_line(service, lines[i], interrupts.token());
    };
    {
      const std::size_t threads =
          std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), 1 + lines.size() / kLinesPerThread);
      std::vector<std::jthread> pool;  // joined at the end of this block
      for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
      work();
    }
    for (const std::string& line : lines) out << line << "\n";
    out.flush();
    if (interrupts.token().stopped()) return kInterruptedStatus;
  }
  return 0;
}

}  // namespace forerun
