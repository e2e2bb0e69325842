// An assertion as written: KEY, a sign, a number.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace forerun {

struct Assertion {
  std::string text;  // as written
  std::string key;   // a metric's key, usd_per_hour, usd_per_million or co2_g_per_million
  std::string end;   // "", "low" or "high": of the interval
  std::string sign;  // "<", "<=", ">", ">="
  double limit = 0;
};

// "latency_ms<5", "throughput_per_s>=100", "latency_ms.high<5": the last holds only if the whole interval does.
Result<Assertion> parse_assertion(std::string_view text);

}  // namespace forerun
