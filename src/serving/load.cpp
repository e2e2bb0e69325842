#include "serving/load.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "base/csv.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMostRequests = 20000, kLeastRequests = 200, kRounds = 10, kMostTokens = 1 << 22;
constexpr double kMostDecodeSteps = 1e6;

// Written out: the standard library's distributions differ between implementations, and answers must not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return (double(bits_() >> 11) + 0.5) * 0x1.0p-53; }  // inside (0, 1)
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  // Gamma of mean 1 (Marsaglia and Tsang, 2000).
  double gamma(double shape) {
    if (shape == 1) return -std::log(uniform());
    const double boost = shape < 1 ? std::pow(uniform(), 1 / shape) : 1;
    const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal(), v = std::pow(1 + c * x, 3);
      if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * boost / shape;
    }
  }

 private:
  std::mt19937_64 bits_;
};

std::int64_t draw_length(const TokenLength& length, Random& random) {
  double tokens = length.mean;
  if (length.cv > 0) {
    const double variance = std::log1p(length.cv * length.cv);
    tokens = length.mean * std::exp(std::sqrt(variance) * random.normal() - variance / 2);
  }
  return std::clamp<std::int64_t>(std::llround(tokens), 1, kMostTokens);
}

}  // namespace

std::vector<LoadRequest> draw_requests(const Load& load) {
  std::vector<LoadRequest> requests;
  for (const TraceRow& row : load.trace)
    requests.push_back({row.at_ms - load.trace.front().at_ms, row.input_tokens, row.output_tokens});
  if (!requests.empty()) return requests;
  // A step gives each running request one token: long outputs take many steps.
  const double clients = load.requests_per_s ? 1 : double(load.concurrency.value_or(1));
  const auto most = std::int64_t(std::max(1.0, clients * kMostDecodeSteps / std::max(1.0, load.output.mean)));
  std::int64_t wanted =
      load.requests > 0 ? load.requests
                        : std::clamp(load.requests_per_s ? 5 * kLeastRequests : kRounds * load.concurrency.value_or(1),
                                     kLeastRequests / 4, kMostRequests);
  if (load.requests == 0)
    wanted = std::min(wanted, std::max(most, load.requests_per_s ? 20 : load.concurrency.value_or(1)));
  Random random(load.seed);
  double at_ms = 0;
  requests.reserve(std::size_t(wanted));
  for (std::int64_t i = 0; i < wanted; ++i) {
    if (load.requests_per_s) at_ms += random.gamma(load.burstiness) * 1e3 / *load.requests_per_s;
    const std::int64_t input = draw_length(load.input, random);
    requests.push_back({at_ms, input, draw_length(load.output, random)});
  }
  return requests;
}

Status add_trace_row(double seconds, double input_tokens, double output_tokens, const std::string& where,
                     std::vector<TraceRow>& rows) {
  const auto is_length = [](double tokens) { return tokens >= 1 && tokens <= double(kMostTokens); };
  if (!is_length(input_tokens) || !is_length(output_tokens) || !std::isfinite(seconds))
    return bad_input(where + ": tokens must lie between 1 and 4194304");
  if (std::ssize(rows) >= 50 * kMostRequests) return Error{ErrorKind::TooLarge, where + ": more than 1000000 requests"};
  rows.push_back({seconds * 1e3, std::int64_t(input_tokens), std::int64_t(output_tokens)});
  if (rows.size() > 1 && rows.back().at_ms < rows[rows.size() - 2].at_ms)
    return bad_input(where + ": timestamps must not fall");
  return ok();
}

Result<std::vector<TraceRow>> read_trace(const std::string& path) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  std::vector<TraceRow> rows;
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) break;
    const auto at = csv.number("timestamp"), input = csv.number("input_tokens"), output = csv.number("output_tokens");
    const std::string where = path + ": row " + std::to_string(rows.size() + 1);
    if (!at || !input || !output)
      return bad_input(where + " has no timestamp, input_tokens and output_tokens (seconds, tokens, tokens)");
    FORERUN_CHECK(add_trace_row(*at, *input, *output, where, rows));
  }
  if (rows.empty()) return bad_input(path + ": the trace has no rows");
  return rows;
}

}  // namespace forerun
