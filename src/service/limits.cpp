#include "service/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "service/report.hpp"

namespace forerun {
namespace {

constexpr double kNinety = 1.6449;  // standard deviations on each side of a 90 % interval

// The limits of MLPerf Inference's Llama 2 70B server scenario (mlcommons.org, v4.0): two seconds to the first token,
// then five tokens a second.
constexpr double kChatTtftMs = 2000, kChatTpotMs = 200;

struct Limit {
  LimitKind kind;
  std::string_view key;
  double asked;
  bool is_most;
  std::string_view what, unit;
};

std::vector<Limit> limits_of(const Request& r) {
  std::vector<Limit> limits;
  const auto add = [&](LimitKind kind, std::string_view key, const std::optional<double>& asked, bool is_most,
                       std::string_view what, std::string_view unit) {
    if (asked) limits.push_back({kind, key, *asked, is_most, what, unit});
  };
  add(LimitKind::Latency, "max_latency_ms", r.max_latency_ms, true, "latency", "ms");
  add(LimitKind::Rate, "fps", r.fps, false, "", "frames/s");
  add(LimitKind::Rate, "min_throughput", r.min_throughput, false, "", "/s");
  add(LimitKind::FirstToken, "slo_ttft_ms", r.slo_ttft_ms, true, "first token", "ms");
  add(LimitKind::NextToken, "slo_tpot_ms", r.slo_tpot_ms, true, "each next token", "ms");
  add(LimitKind::Price, "max_usd_per_hour", r.max_usd_per_hour, true, "price", "$/h");
  return limits;
}

std::string digits(double value) { return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value); }

// Of a serving metric what nine requests in ten keep, else its mean; with the mean's relative interval.
std::optional<Estimate> served(const DeviceResult& result, std::string_view key, bool tail) {
  if (!result.serving) return std::nullopt;
  for (const ServingMetric& m : result.serving->metrics) {
    if (m.key != key || !(m.value > 0)) continue;
    const double value = tail ? m.p90.value_or(m.value) : m.value;
    return Estimate{value, m.low * value / m.value, m.high * value / m.value, Basis::Roofline, {}};
  }
  return std::nullopt;
}

std::optional<Estimate> estimate_of(const DeviceResult& result, const Limit& limit) {
  const auto found = [&](Metric metric) -> std::optional<Estimate> {
    const Estimate* e = result.estimates.find(metric);
    return e == nullptr ? std::nullopt : std::optional(*e);
  };
  switch (limit.kind) {
    case LimitKind::Latency:
      return result.serving ? served(result, "request_latency_ms", true) : found(Metric::Latency);
    case LimitKind::Rate: return found(result.serving ? Metric::TokenRate : Metric::Throughput);
    case LimitKind::FirstToken: return served(result, "ttft_ms", true);
    case LimitKind::NextToken: return served(result, "tpot_ms", true);
    case LimitKind::Price:
      if (!result.advice.usd_per_hour) return std::nullopt;
      return Estimate{
          *result.advice.usd_per_hour, *result.advice.usd_per_hour, *result.advice.usd_per_hour, Basis::Measured, {}};
    default: return std::nullopt;
  }
}

std::string gigabytes(double mb) { return fmt::format("{:.3g} GB", mb / 1024); }

void check_memory(const DeviceResult& result, const Device& device, LimitReport& report) {
  Metric metric = Metric::DeviceMemory;
  double room_mb = device.memory_gib * 1024;
  if (result.serving && result.estimates.contains(Metric::ServingMemory)) {
    metric = Metric::ServingMemory;
    room_mb = std::min(room_mb, result.serving->usable_mb);
  }
  const Estimate* needed = result.estimates.find(metric);
  if (needed == nullptr) return;
  if (!result.advice.fits) {
    report.misses.push_back({LimitKind::Memory, "memory", room_mb, needed->value,
                             fmt::format("needs {}, has {}", gigabytes(needed->value), gigabytes(room_mb))});
  }
  report.probability = std::min(report.probability, probability_at_most(*needed, room_mb));
}

void check(const Limit& limit, const DeviceResult& result, LimitReport& report) {
  const auto value = estimate_of(result, limit);
  if (!value) {
    report.probability = 0;
    report.misses.push_back({limit.kind, std::string(limit.key), limit.asked, 0,
                             limit.kind == LimitKind::Price ? "no price is known" : "not estimated"});
    return;
  }
  const double at_most = probability_at_most(*value, limit.asked);
  report.probability = std::min(report.probability, limit.is_most ? at_most : 1 - at_most);
  if (limit.is_most ? value->value <= limit.asked : value->value >= limit.asked) return;
  const std::string what = limit.what.empty() ? "" : std::string(limit.what) + " ";
  report.misses.push_back({limit.kind, std::string(limit.key), limit.asked, value->value,
                           fmt::format("{}{} {} is {} {}", what, digits(value->value), limit.unit,
                                       limit.is_most ? "above" : "below", digits(limit.asked))});
}

}  // namespace

double probability_at_most(const Estimate& estimate, double limit) {
  if (!(estimate.value > 0) || !(limit > 0)) return estimate.value <= limit ? 1 : 0;
  const double distance = std::log(limit / estimate.value);
  const double side = distance > 0 ? std::log(estimate.high / estimate.value)
                                   : std::log(estimate.value / std::max(1e-300, estimate.low));
  if (!(side > 0)) return distance >= 0 ? 1 : 0;
  return 0.5 * std::erfc(-distance / side * kNinety / std::sqrt(2.0));
}

bool has_limits(const Request& request) { return !limits_of(request).empty(); }

std::string limits_text(const Request& request) {
  std::string text;
  for (const Limit& limit : limits_of(request)) {
    text += text.empty() ? "" : ", ";
    if (limit.is_most) {
      text += fmt::format("{} at most {} {}", limit.what, digits(limit.asked), limit.unit);
    } else {
      text += fmt::format("at least {} {}", digits(limit.asked), limit.unit);
    }
    if (limit.kind == LimitKind::FirstToken || limit.kind == LimitKind::NextToken) text += " for 90 % of requests";
  }
  return text;
}

LimitReport check_limits(const Request& request, const DeviceResult& result, const Device& device) {
  LimitReport report;
  if (!result.estimates.contains(Metric::Latency)) {
    report.probability = 0;
    report.misses.push_back(
        {LimitKind::Support, "support", 0, 0, result.warnings.empty() ? "not estimated" : result.warnings.back()});
    return report;
  }
  check_memory(result, device, report);
  if (!report.holds()) {  // what does not fit has no latency to speak of
    return report;
  }
  if (result.serving && result.serving->saturated) {
    report.probability = 0;
    report.misses.push_back({LimitKind::Load, "load", 0, 0, "requests come faster than they are served"});
    return report;
  }
  for (const Limit& limit : limits_of(request)) check(limit, result, report);
  return report;
}

Result<Request> with_users(const Request& request) {
  Request asked = request;
  if (!request.users) return asked;
  if (request.concurrency || request.request_rate || !request.trace.empty())
    return bad_input("--users: is the load already; leave out --concurrency, --request-rate and --trace");
  asked.concurrency = request.users;
  if (!request.slo_ttft_ms && !request.slo_tpot_ms) {
    asked.slo_ttft_ms = kChatTtftMs;
    asked.slo_tpot_ms = kChatTpotMs;
  }
  return asked;
}

}  // namespace forerun
