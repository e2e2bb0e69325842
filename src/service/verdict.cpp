#include "service/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "service/report.hpp"

namespace forerun {
namespace {

constexpr double kTie = 0.6;  // a fastest device that is less surely faster than the next is called a tie

std::string digits(double value) { return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value); }
std::string percent(double probability) {
  return fmt::format("{:.0f} % sure", 100 * std::clamp(probability, 0.01, 0.99));
}

// A result's number that a table can be sorted by.
std::optional<double> number_of(const DeviceResult& result, std::string_view key) {
  if (key == "usd_per_hour") return result.advice.usd_per_hour;
  if (key == "usd_per_million") return result.advice.usd_per_million;
  if (key == "co2_g_per_million") return result.advice.co2_g_per_million;
  const auto metric = parse_metric(key);
  const Estimate* found = metric ? result.estimates.find(*metric) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

bool is_higher_better(std::string_view key) {
  const auto metric = parse_metric(key);
  return metric && spec_of(*metric).better == Better::Higher;
}

bool serves(const PredictReport& report) {
  return std::any_of(report.results.begin(), report.results.end(), [](const auto& r) { return r.serving.has_value(); });
}
bool holds(const DeviceResult& result) { return result.limits ? result.limits->holds() : result.advice.fits; }

double log_deviation(const Estimate& estimate) {
  return estimate.low > 0 ? std::log(estimate.high / estimate.low) / 2 / 1.6449 : 0;
}

class VerdictMaker {
 public:
  VerdictMaker(const Request& request, const PredictReport& report) : request_(request), report_(report) {}

  Verdict make() {
    verdict_.of = report_.results.size();
    verdict_.holds = std::size_t(std::count_if(report_.results.begin(), report_.results.end(), holds));
    const bool serving = serves(report_);
    const bool is_load = has_limits(request_) || serving;
    verdict_.cheapest = best(is_load ? "usd_per_hour" : "usd_per_million");
    verdict_.fastest = best(serving ? "tokens_per_s" : "latency_ms");
    if (verdict_.fastest) compare_with_next(*verdict_.fastest);
    verdict_.most_frugal = best(serving ? "energy_per_token_j" : "energy_j");
    verdict_.text = report_.results.size() == 1 ? of_one(report_.results[0])
                    : verdict_.holds > 0        ? of_many()
                                                : of_none();
    return std::move(verdict_);
  }

 private:
  const DeviceResult* find(const std::string& device) const {
    const auto found = std::find_if(report_.results.begin(), report_.results.end(),
                                    [&](const DeviceResult& r) { return r.device == device; });
    return found == report_.results.end() ? nullptr : &*found;
  }

  std::optional<Choice> best(std::string_view key) const {
    std::optional<Choice> found;
    for (const DeviceResult& result : report_.results) {
      const auto value = number_of(result, key);
      if (!holds(result) || !value) continue;
      if (found && (is_higher_better(key) ? *value <= found->value : *value >= found->value)) continue;
      found = Choice{result.device, std::string(key), *value, result.limits ? result.limits->probability : 1, {}};
    }
    return found;
  }

  // How sure the order is: both intervals, taken as independent.
  void compare_with_next(Choice& fastest) const {
    const Metric metric = *parse_metric(fastest.key);
    const Estimate& first = find(fastest.device)->estimates.at(metric);
    const bool higher = is_higher_better(fastest.key);
    fastest.probability = 1;
    for (const DeviceResult& other : report_.results) {
      const Estimate* next = other.estimates.find(metric);
      if (next == nullptr || other.device == fastest.device || !holds(other)) continue;
      const double lead = higher ? std::log(first.value / next->value) : std::log(next->value / first.value);
      const double deviation = std::hypot(log_deviation(first), log_deviation(*next));
      const double probability = deviation > 0 ? 0.5 * std::erfc(-lead / deviation / std::sqrt(2.0)) : 1;
      if (probability >= fastest.probability) continue;
      fastest.probability = probability;
      fastest.tie = probability < kTie ? other.device : "";
    }
  }

  std::string sample() const { return serves(report_) ? "token" : "sample"; }

  std::string cheapest_text() const {
    const Choice& c = *verdict_.cheapest;
    if (c.key == "usd_per_million") return fmt::format("{} at ${} per million samples", c.device, digits(c.value));
    return fmt::format("{} at ${}/h ({})", c.device, digits(c.value), percent(c.probability));
  }

  std::string fastest_text() const {
    const Choice& c = *verdict_.fastest;
    const std::string value = fmt::format("{}, {} {}", c.device, digits(c.value), serves(report_) ? "tokens/s" : "ms");
    if (!c.tie.empty()) return fmt::format("{}, a tie with {}", value, c.tie);
    return verdict_.holds > 1 ? fmt::format("{} ({})", value, percent(c.probability)) : value;
  }

  std::string frugal_text() const {
    const Choice& c = *verdict_.most_frugal;
    const double samples = serves(report_) ? 1 : double(report_.workload.batch);
    return fmt::format("{}, {} J per {}", c.device, digits(c.value / samples), sample());
  }

  std::string of_many() const {
    std::string text;
    const auto add = [&](std::string_view what, const std::string& found) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, found);
    };
    const bool limited = has_limits(request_);
    if (verdict_.cheapest) add(limited ? "Cheapest that holds" : "Cheapest", cheapest_text());
    if (verdict_.fastest) add(text.empty() ? "Fastest" : "fastest", fastest_text());
    if (verdict_.most_frugal) add(text.empty() ? "Most frugal" : "most frugal", frugal_text());
    if (limited) {
      text += fmt::format(". {} of {} devices hold: {}", verdict_.holds, verdict_.of, limits_text(request_));
    } else if (verdict_.holds < verdict_.of) {
      text += fmt::format(". {} of {} devices fit", verdict_.holds, verdict_.of);
    }
    return text + ".";
  }

  static std::string misses_text(const DeviceResult& result) {
    std::string text;
    for (const Miss& miss : result.limits->misses) text += (text.empty() ? "" : ", ") + miss.reason;
    std::string remedies;
    for (const Remedy& remedy : result.limits->remedies) remedies += (remedies.empty() ? "; " : ", or ") + remedy.text;
    return text + remedies;
  }

  std::string of_none() const {
    const std::string asked = has_limits(request_) ? " holds (" + limits_text(request_) + ")" : " fits";
    const DeviceResult* nearest = nullptr;
    const auto order = [](const DeviceResult& r) {
      return std::pair(!r.limits->remedies.empty(), r.limits->probability);
    };
    for (const DeviceResult& result : report_.results) {
      if (nearest == nullptr || order(result) > order(*nearest)) nearest = &result;
    }
    return fmt::format("None of the {} devices{}. Nearest: {}: {}.", verdict_.of, asked, nearest->device,
                       misses_text(*nearest));
  }

  std::string of_one(const DeviceResult& result) const {
    if (!holds(result)) return fmt::format("No: {} does not hold: {}.", result.device, misses_text(result));
    const std::string asked = has_limits(request_) ? ": " + limits_text(request_) : "";
    const std::string price =
        result.advice.usd_per_hour ? fmt::format(", at ${} an hour", digits(*result.advice.usd_per_hour)) : "";
    return fmt::format("Yes: {} holds{} ({}){}.", result.device, asked, percent(result.limits->probability), price);
  }

  const Request& request_;
  const PredictReport& report_;
  Verdict verdict_;
};

}  // namespace

Verdict find_verdict(const Request& request, const PredictReport& report) {
  return VerdictMaker(request, report).make();
}

bool is_sort_key(std::string_view key) {
  return key == "device" || key == "usd_per_hour" || key == "usd_per_million" || key == "co2_g_per_million" ||
         parse_metric(key).has_value();
}

std::vector<std::size_t> rank_results(const PredictReport& report, std::string_view key) {
  std::vector<std::size_t> order(report.results.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::string_view by = !key.empty() ? key : serves(report) ? "tokens_per_s" : "latency_ms";
  const double sign = is_higher_better(by) ? -1 : 1;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const DeviceResult &x = report.results[a], &y = report.results[b];
    if (key == "device") return x.device < y.device;
    if (key.empty() && holds(x) != holds(y)) return holds(x);
    const auto p = number_of(x, by), q = number_of(y, by);
    if (!p || !q) return p.has_value() && !q;
    return sign * *p < sign * *q;
  });
  return order;
}

void arrange_results(const Request& request, PredictReport& report) {
  if (request.sort.empty() && !request.fits_only && !request.top) return;
  std::vector<DeviceResult> arranged;
  const std::size_t most = request.top ? std::size_t(*request.top) : report.results.size();
  const bool keeps_order = request.sort.empty() && !request.top;
  std::vector<std::size_t> order = rank_results(report, request.sort);
  if (keeps_order) std::sort(order.begin(), order.end());
  for (const std::size_t place : order) {
    if (arranged.size() >= most) break;
    if (!request.fits_only || holds(report.results[place])) arranged.push_back(std::move(report.results[place]));
  }
  report.results = std::move(arranged);
}

}  // namespace forerun
