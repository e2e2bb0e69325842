// What an answer about several devices comes to: the cheapest that holds, the fastest, the most frugal, how sure that
// is, and one sentence that says so. Also the order of the results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "service/request.hpp"

namespace forerun {

struct PredictReport;

// One of the devices that keep all limits.
struct Choice {
  std::string device;
  std::string key;  // of the number that decided: "usd_per_hour", "latency_ms", …
  double value = 0;
  double probability = 1;  // that it keeps every limit and fits; for the fastest, that it is faster than the next
  std::string tie;         // the next fastest where that is a coin's toss
};

struct Verdict {
  std::string text;
  std::size_t holds = 0, of = 0;  // devices that keep every limit, devices asked about
  std::optional<Choice> cheapest, fastest, most_frugal;
};

// REQUIRES: every result has limits.
[[nodiscard]] Verdict find_verdict(const Request& request, const PredictReport& report);

// Whether results can be sorted by it: a metric's key, usd_per_hour, usd_per_million, co2_g_per_million or device.
[[nodiscard]] bool is_sort_key(std::string_view key);
// Places of the results in order; "": those that hold first, then the fastest first.
[[nodiscard]] std::vector<std::size_t> rank_results(const PredictReport& report, std::string_view key);
// Applies --sort, --fits-only and --top.
void arrange_results(const Request& request, PredictReport& report);

}  // namespace forerun
