#include "service/assertions.hpp"

#include <charconv>
#include <cmath>

#include "readers/printable.hpp"

namespace forerun {
namespace {

Error not_an_assertion(std::string_view text) {
  return bad_input("--assert: " + in_quotes(text) +
                   " is not KEY<X, KEY<=X, KEY>X or KEY>=X, as in latency_ms<5; KEY is a metric's (docs/metrics.md), "
                   "with .low or .high an end of its interval, or usd_per_hour, usd_per_million, co2_g_per_million");
}

std::optional<double> value_of(const Assertion& assertion, const DeviceResult& result) {
  if (assertion.key == "usd_per_hour") return result.advice.usd_per_hour;
  if (assertion.key == "usd_per_million") return result.advice.usd_per_million;
  if (assertion.key == "co2_g_per_million") return result.advice.co2_g_per_million;
  const Estimate* e = result.estimates.find(*parse_metric(assertion.key));
  if (e == nullptr) return std::nullopt;
  return assertion.end == "low" ? e->low : assertion.end == "high" ? e->high : e->value;
}

bool holds(const Assertion& a, double value) {
  if (a.sign == "<") return value < a.limit;
  if (a.sign == "<=") return value <= a.limit;
  return a.sign == ">" ? value > a.limit : value >= a.limit;
}

}  // namespace

Result<Assertion> parse_assertion(std::string_view text) {
  Assertion assertion;
  std::string dense;
  for (const char c : text) {
    if (c != ' ') dense += c;
  }
  const std::size_t sign = dense.find_first_of("<>");
  if (sign == std::string::npos) return not_an_assertion(text);
  const std::size_t number = sign + (dense.compare(sign + 1, 1, "=") == 0 ? 2 : 1);
  assertion.text = dense;
  assertion.key = dense.substr(0, sign);
  assertion.sign = dense.substr(sign, number - sign);
  for (const std::string end : {"low", "high"}) {
    if (!assertion.key.ends_with("." + end)) continue;
    assertion.key.resize(assertion.key.size() - end.size() - 1);
    assertion.end = end;
  }
  const bool is_price =
      assertion.key == "usd_per_hour" || assertion.key == "usd_per_million" || assertion.key == "co2_g_per_million";
  if (!parse_metric(assertion.key) && !(is_price && assertion.end.empty())) return not_an_assertion(text);
  const char* last = dense.data() + dense.size();
  const auto [end, error] = std::from_chars(dense.data() + number, last, assertion.limit);
  if (error != std::errc{} || end != last || !std::isfinite(assertion.limit)) return not_an_assertion(text);
  return assertion;
}

std::vector<Checked> check_assertions(const std::vector<Assertion>& assertions,
                                      const std::vector<DeviceResult>& results) {
  std::vector<Checked> list;
  for (const DeviceResult& result : results) {
    for (const Assertion& assertion : assertions) {
      const auto value = value_of(assertion, result);
      list.push_back({assertion.text, result.device, value, value && holds(assertion, *value)});
    }
  }
  return list;
}

}  // namespace forerun
