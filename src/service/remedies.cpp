#include "service/remedies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/kernel_builder.hpp"
#include "service/options.hpp"
#include "service/serving_question.hpp"

namespace forerun {
namespace {

constexpr unsigned bit(LimitKind kind) { return 1U << unsigned(kind); }
constexpr unsigned kSpeed = bit(LimitKind::Latency) | bit(LimitKind::Rate) | bit(LimitKind::FirstToken) |
                            bit(LimitKind::NextToken) | bit(LimitKind::Load);
constexpr unsigned kRoom = bit(LimitKind::Memory);

// One change to try.
struct Candidate {
  std::string text;  // "{}" stands for what it does: "fits" or "keeps it"
  std::vector<Setting> settings;
  unsigned against = 0;  // kinds of limits that it can help
};

bool is_wide(Precision p) { return activation_bytes(p) > 2; }

// Changes that leave the network's numbers as they are, the nearest first.
std::vector<Candidate> deployments(const Request& request, const WorkloadInfo& workload, bool serves) {
  std::vector<Candidate> list;
  const auto add = [&](std::string text, std::string_view option, std::string value, unsigned against) {
    list.push_back({std::move(text), {{std::string(option), std::move(value)}}, against});
  };
  if (!serves && !workload.training && workload.runtime == Runtime::Eager)
    add("a CUDA graph {}", "runtime", "graph", kSpeed);
  if (request.price == "on_demand") add("the spot price {}", "price", "spot", bit(LimitKind::Price));
  const unsigned smaller = kRoom | bit(LimitKind::Latency);
  if (!serves) {
    constexpr int kHalvings = 4, kDoublings = 4;
    for (std::int64_t batch = workload.batch / 2, n = 0; batch >= 1 && n < kHalvings; batch /= 2, ++n)
      add(fmt::format("batch {} {{}}", batch), "batch", std::to_string(batch), smaller);
    for (std::int64_t factor = 2; factor <= (1 << kDoublings); factor *= 2) {
      const std::int64_t batch = workload.batch * factor;
      add(fmt::format("batch {} {{}}", batch), "batch", std::to_string(batch), bit(LimitKind::Rate));
    }
  }
  if (!request.parallel.is_asked()) {
    const bool is_written_out = workload.phase != Phase::Forward || workload.sequence || serves;
    for (const std::int64_t devices : {2, 4, 8}) {
      const std::string value = std::to_string(devices);
      if (is_written_out) add("needs " + value, "tensor-parallel", value, kRoom | kSpeed);
      if (serves) add("needs " + value + " copies", "data-parallel", value, kSpeed);
    }
  }
  if (serves && request.concurrency) {
    for (std::int64_t load = *request.concurrency / 2; load >= 1; load /= 4)
      add(fmt::format("{} at once {{}}", load), "concurrency", std::to_string(load), kSpeed | kRoom);
  }
  return list;
}

// Changes of the number format, the most accurate first.
std::vector<Candidate> precisions(const WorkloadInfo& workload) {
  std::vector<Candidate> list;
  const auto add = [&](std::string_view precision) {
    list.push_back({std::string(precision) + " {}",
                    {{"precision", std::string(precision)}},
                    kRoom | kSpeed | bit(LimitKind::Support)});
  };
  if (is_wide(workload.precision)) add(workload.training ? "amp_bf16" : "fp16");
  if (!workload.training) {
    for (const std::string_view precision : {"fp8", "int8", "int4"}) {
      if (precision != name_of(workload.precision)) add(precision);
    }
  }
  return list;
}

unsigned missed_by(const DeviceResult& result) {
  unsigned kinds = 0;
  for (const Miss& miss : result.limits->misses) kinds |= bit(miss.kind);
  return kinds;
}

Result<Request> changed(const Request& request, const Candidate& candidate) {
  Request other = request;
  other.remedies = other.runtimes = other.explain = other.fits_only = false;
  other.finds_rate = false;
  other.progress.reset();
  other.top.reset();
  other.sort.clear();
  other.users.reset();
  other.assertions.clear();
  other.most_work = std::numeric_limits<double>::infinity();  // counted before, for all of them
  for (const Setting& setting : candidate.settings) {
    if (setting.option == "concurrency") other.concurrency.reset();
    const auto options = all_options();
    const auto row =
        std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == setting.option; });
    if (row == options.end()) return internal_error("no option " + setting.option);
    FORERUN_CHECK(row->apply(other, setting.value));
  }
  return other;
}

// Asks about all `open` devices at once; one by one where the change is refused for one of them. Those that keep the
// limits are taken out of `open`.
void try_candidate(const Request& request, const Candidate& candidate, const Targets& targets, const AskFunction& ask,
                   std::vector<std::size_t>& open, PredictReport& report) {
  auto other = changed(request, candidate);
  if (!other) return;
  const auto take = [&](std::size_t place, const DeviceResult& result) {
    LimitReport& limits = *report.results[place].limits;
    if (!check_limits(*other, result, targets[place]->device).holds()) return;
    const bool is_room = (missed_by(report.results[place]) & kRoom) != 0;
    limits.remedies.push_back(
        {fmt::format(fmt::runtime(candidate.text), is_room ? "fits" : "keeps it"), candidate.settings});
    std::erase(open, place);
  };
  std::vector<std::size_t> asked;
  other->devices.clear();
  for (const std::size_t place : open) {
    if ((missed_by(report.results[place]) & candidate.against) == 0) continue;
    asked.push_back(place);
    other->devices.push_back(targets[place]->device.id);
  }
  if (asked.empty()) return;
  if (const auto all = ask(*other); all && all->results.size() == asked.size()) {
    for (std::size_t i = 0; i < asked.size(); ++i) take(asked[i], all->results[i]);
  } else if (asked.size() > 1) {
    for (const std::size_t place : asked) {
      other->devices = {targets[place]->device.id};
      if (const auto one = ask(*other); one && one->results.size() == 1) take(place, one->results[0]);
    }
  }
}

}  // namespace

Status find_remedies(const Request& request, const Targets& targets, const AskFunction& ask, PredictReport& report) {
  const bool serves = asks_for_serving(request);
  for (const auto& candidates : {deployments(request, report.workload, serves), precisions(report.workload)}) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < report.results.size(); ++i) {
      if (!report.results[i].limits->holds()) open.push_back(i);
    }
    for (const Candidate& candidate : candidates) {
      FORERUN_CHECK(request.cancel.check());
      try_candidate(request, candidate, targets, ask, open, report);
    }
  }
  return ok();
}

}  // namespace forerun
