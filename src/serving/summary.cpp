#include "serving/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace forerun {
namespace {

constexpr double kWarmUp = 0.1;       // share of an open loop's requests that fill the empty system
constexpr double kGoodShare = 0.9;    // of the requests that must keep the limits
constexpr double kFills = 8;          // an open loop is run for so many times the requests that it holds
constexpr std::size_t kBatches = 10;  // batch means: the spread of a load's mean

struct Sample {
  std::vector<double> values;
  double mean = 0;
  double half_width = 0;  // of the mean's 90 % interval, from batch means
};

double percentile(std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, std::size_t(share * double(sorted.size())))];
}

Sample sample_of(std::vector<double> values) {
  Sample sample;
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  sample.mean = sum / double(values.size());
  if (values.size() >= 2 * kBatches) {
    const std::size_t each = values.size() / kBatches;
    for (std::size_t b = 0; b < kBatches; ++b) {
      double part = 0;
      for (std::size_t i = 0; i < each; ++i) part += values[b * each + i];
      squares += std::pow(part / double(each) - sample.mean, 2);
    }
    sample.half_width = 1.83 * std::sqrt(squares / double(kBatches - 1) / double(kBatches));  // t of 9 degrees, 95 %
  }
  sample.values = std::move(values);
  return sample;
}

void add(ServingSummary& summary, std::string_view key, std::vector<double> values) {
  if (values.empty()) return;
  Sample sample = sample_of(std::move(values));
  ServingMetric metric{.key = key, .value = sample.mean};
  std::sort(sample.values.begin(), sample.values.end());
  metric.p50 = percentile(sample.values, 0.5);
  metric.p90 = percentile(sample.values, 0.9);
  metric.p99 = percentile(sample.values, 0.99);
  metric.low = std::max(0.0, sample.mean - sample.half_width);
  metric.high = sample.mean + sample.half_width;
  summary.metrics.push_back(metric);
}

void add_number(ServingSummary& summary, std::string_view key, double value) {
  summary.metrics.push_back({.key = key, .value = value, .low = value, .high = value});
}

// Gaps are counted with the tokens that came with them.
void add_gaps(ServingSummary& summary, std::vector<TokenGap> gaps) {
  if (gaps.empty()) return;
  std::sort(gaps.begin(), gaps.end(), [](const TokenGap& a, const TokenGap& b) { return a.ms < b.ms; });
  double tokens = 0, sum = 0;
  for (const TokenGap& gap : gaps) {
    tokens += double(gap.tokens);
    sum += gap.ms * double(gap.tokens);
  }
  ServingMetric metric{.key = "itl_ms", .value = sum / tokens};
  metric.low = metric.high = metric.value;
  double passed = 0;
  for (const TokenGap& gap : gaps) {
    passed += double(gap.tokens);
    if (!metric.p50 && passed >= 0.5 * tokens) metric.p50 = gap.ms;
    if (!metric.p90 && passed >= 0.9 * tokens) metric.p90 = gap.ms;
    if (!metric.p99 && passed >= 0.99 * tokens) metric.p99 = gap.ms;
  }
  summary.metrics.push_back(metric);
}

double tpot_of(const RequestTimes& r) {
  return (r.done_ms - r.first_token_ms) / double(std::max<std::int64_t>(1, r.output_tokens - 1));
}

bool is_good(const RequestTimes& r, const LatencyLimits& limits) {
  return r.served && (!limits.ttft_ms || r.first_token_ms - r.sent_ms <= *limits.ttft_ms) &&
         (!limits.tpot_ms || r.output_tokens < 2 || tpot_of(r) <= *limits.tpot_ms);
}

// In a stable system the number of unanswered requests has no trend: between the middle of the arrivals and their end
// it does not grow by more than a few per cent of the arrivals between and their chance fluctuation.
bool piles_up(const SimulationResult& result) {
  const auto& requests = result.requests;
  if (requests.size() < 40) return false;
  const double end_ms = requests.back().sent_ms, middle_ms = requests[requests.size() / 2].sent_ms;
  double open_at_end = 0, open_at_middle = 0, arrived = 0;
  for (const RequestTimes& r : requests) {
    if (!r.served) continue;
    open_at_end += r.done_ms > end_ms;
    open_at_middle += r.sent_ms <= middle_ms && r.done_ms > middle_ms;
    arrived += r.sent_ms > middle_ms;
  }
  return open_at_end - open_at_middle > 0.05 * arrived + 3 * std::sqrt(open_at_middle + 1);
}

}  // namespace

SimulationResult run_load(const Deployment& deployment, const Load& load) {
  constexpr std::int64_t kMost = 20000;
  const std::int64_t clients = load.concurrency.value_or(std::numeric_limits<std::int64_t>::max());
  std::vector<LoadRequest> requests = draw_requests(load);
  SimulationResult result = simulate(deployment, requests, clients);
  Load longer = load;
  while (load.requests_per_s && load.trace.empty() && std::ssize(requests) < kMost) {
    double stay_ms = 0;
    for (const RequestTimes& r : result.requests) stay_ms += r.served ? r.done_ms - r.sent_ms : 0;
    const double in_flight = stay_ms / double(requests.size()) / 1e3 * *load.requests_per_s;
    if (kFills * in_flight <= double(requests.size())) break;
    longer.requests = std::min(kMost, std::max(2 * std::ssize(requests), std::int64_t(1.5 * kFills * in_flight)));
    requests = draw_requests(longer);
    result = simulate(deployment, requests, clients);
  }
  return result;
}

const ServingMetric* ServingSummary::find(std::string_view key) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.key == key; });
  return found == metrics.end() ? nullptr : &*found;
}

ServingSummary summarise(const SimulationResult& result, const Load& load, const LatencyLimits& limits,
                         double devices) {
  ServingSummary summary;
  const bool open = load.requests_per_s || !load.trace.empty();
  summary.saturated = open && piles_up(result);
  const std::size_t first = open && load.trace.empty() ? std::size_t(kWarmUp * double(result.requests.size())) : 0;
  std::vector<double> ttft, tpot, whole;
  double good = 0, served = 0;
  for (std::size_t i = first; i < result.requests.size(); ++i) {
    const RequestTimes& r = result.requests[i];
    if (!r.served) continue;
    ++served;
    good += is_good(r, limits);
    ttft.push_back(r.first_token_ms - r.sent_ms);
    whole.push_back(r.done_ms - r.sent_ms);
    if (r.output_tokens > 1) tpot.push_back(tpot_of(r));
  }
  const double seconds = result.end_ms / 1e3;
  if (served == 0 || seconds <= 0) return summary;
  if (!summary.saturated) {
    add(summary, "ttft_ms", std::move(ttft));
    add(summary, "tpot_ms", std::move(tpot));
    add_gaps(summary, result.gaps);
    add(summary, "request_latency_ms", std::move(whole));
  }
  double all = 0;
  for (const RequestTimes& r : result.requests) all += r.served;
  add_number(summary, "requests_per_s", all / seconds);
  add_number(summary, "tokens_per_s", double(result.generated_tokens) / seconds);
  add_number(summary, "tokens_per_s_per_device", double(result.generated_tokens) / seconds / devices);
  if (limits.any()) add_number(summary, "goodput_per_s", all / seconds * good / served);
  add_number(summary, "energy_per_token_j",
             result.energy_j / double(std::max<std::int64_t>(1, result.generated_tokens)));
  add_number(summary, "kv_use", result.mean_kv_use);
  add_number(summary, "kv_use_peak", result.peak_kv_use);
  add_number(summary, "batch", result.mean_batch);
  add_number(summary, "queue", result.mean_queue);
  return summary;
}

LoadCheck check_load(const SimulationResult& result, const LatencyLimits& limits) {
  LoadCheck check;
  const auto share = [&](const LatencyLimits& of) {
    double good = 0;
    for (const RequestTimes& r : result.requests) good += is_good(r, of);
    return good >= kGoodShare * double(result.requests.size());
  };
  check.piles_up = piles_up(result);
  check.keeps_ttft = share({.ttft_ms = limits.ttft_ms});
  check.keeps_tpot = share({.tpot_ms = limits.tpot_ms});
  check.keeps_all = !check.piles_up && check.keeps_ttft && check.keeps_tpot && share(limits);
  return check;
}

std::optional<double> highest_rate(const Deployment& deployment, const Load& load, const LatencyLimits& limits) {
  constexpr double kLeast = 0.01, kMost = 1e5;
  Load trial = load;
  trial.concurrency.reset();
  trial.trace.clear();
  trial.requests = 300;
  const auto keeps = [&](double rate) {
    trial.requests_per_s = rate;
    return check_load(run_load(deployment, trial), limits).keeps_all;
  };
  double low = kLeast, high = 1;
  if (!keeps(low)) return std::nullopt;
  while (high < kMost && keeps(high)) {
    low = high;
    high *= 2;
  }
  while (high / low > 1.02) {
    const double middle = std::sqrt(low * high);
    (keeps(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace forerun
