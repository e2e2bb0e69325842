// The load a serving question describes: when requests arrive and how many tokens each has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct TokenLength {
  double mean = 0;
  double cv = 0;  // standard deviation divided by the mean; 0: every request is the same
};

struct TraceRow {
  double at_ms = 0;  // the first row's is the start
  std::int64_t input_tokens = 1, output_tokens = 1;
};

struct Load {
  std::optional<std::int64_t> concurrency =
      {};                                     // closed loop: clients that send their next request when one is answered
  std::optional<double> requests_per_s = {};  // open loop; with `concurrency` too, that many at most are in flight
  double burstiness = 1;                      // gaps' gamma shape, as in vLLM's benchmark: 1 Poisson, below 1 bursts
  TokenLength input{512, 0}, output{128, 0};
  std::vector<TraceRow> trace = {};  // not empty: replaces rate and lengths
  std::int64_t requests = 0;         // to simulate; 0: enough for the percentiles
  std::uint64_t seed = 1;
};

struct LoadRequest {
  double at_ms = 0;  // arrival in an open loop; 0 in a closed one
  std::int64_t input_tokens = 1, output_tokens = 1;
};

// Requests of a load, the same for the same seed. Lengths follow a log-normal distribution of the given mean and
// coefficient of variation.
[[nodiscard]] std::vector<LoadRequest> draw_requests(const Load& load);

// Appends a row of a trace. Error: tokens or seconds that cannot be, or fall; `where` is for the message.
Status add_trace_row(double seconds, double input_tokens, double output_tokens, const std::string& where,
                     std::vector<TraceRow>& rows);

// A trace: CSV with a header that names timestamp (seconds), input_tokens and output_tokens; `name` is for messages.
Result<std::vector<TraceRow>> read_trace(const std::string& path);

}  // namespace forerun
