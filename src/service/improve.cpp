#include "service/improve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "service/options.hpp"

namespace forerun {
namespace {

constexpr double kPays = 1.02;         // a smaller gain is not proposed
constexpr double kNeutral = 0.95;      // a change may pay together with others that alone costs no more than this
constexpr std::size_t kBeam = 4;       // combinations kept in each round
constexpr std::size_t kMostParts = 4;  // of a combination
constexpr std::size_t kCombined = 10;  // best changes that are combined
constexpr std::size_t kMostRejected = 40;
constexpr double kNinety = 1.6449;  // half width of a normal distribution's 90 % interval

struct GoalSpec {
  Metric pass, serving;
  bool is_per_sample;  // the pass's figure is divided by its samples
};
// By Goal; Cost is computed from the price and the rate.
constexpr GoalSpec kGoalSpecs[] = {{Metric::Latency, Metric::RequestLatency, false},
                                   {Metric::Throughput, Metric::TokenRate, false},
                                   {Metric::Energy, Metric::EnergyPerToken, true},
                                   {Metric::Throughput, Metric::TokenRate, false},
                                   {Metric::DeviceMemory, Metric::ServingMemory, false}};

bool serves(const DeviceResult& result) { return result.estimates.contains(Metric::TokenRate); }

Metric metric_of(Goal goal, bool is_serving) {
  const GoalSpec& spec = kGoalSpecs[std::size_t(goal)];
  return is_serving ? spec.serving : spec.pass;
}

// The figure a goal is judged by; nullopt where the answer has none.
std::optional<Estimate> score(Goal goal, const DeviceResult& result, int copies) {
  const Estimate* found = result.estimates.find(metric_of(goal, serves(result)));
  if (found == nullptr) return std::nullopt;
  Estimate estimate = *found;
  if (goal == Goal::Throughput) scale(estimate, copies);
  if (goal == Goal::Energy && !serves(result)) {
    const double samples =
        result.estimates.at(Metric::Throughput).value * result.estimates.at(Metric::Latency).value / 1e3;
    scale(estimate, 1 / samples);
  }
  if (goal == Goal::Cost) {
    if (!result.advice.usd_per_million) return std::nullopt;
    const double usd = *result.advice.usd_per_million / copies;
    estimate = {usd, usd * estimate.value / estimate.high, usd * estimate.value / estimate.low, estimate.basis,
                estimate.predictor};
  }
  return estimate;
}

double log_deviation(const Estimate& estimate) {
  return estimate.low > 0 ? std::log(estimate.high / estimate.low) / (2 * kNinety) : 0;
}

void compare(const Estimate& before, bool is_lower_better, Change& change) {
  const double ratio = is_lower_better ? before.value / change.after.value : change.after.value / before.value;
  const double deviation = std::hypot(log_deviation(before), log_deviation(change.after));
  change.factor = ratio;
  change.low = ratio * std::exp(-kNinety * deviation);
  change.high = ratio * std::exp(kNinety * deviation);
  change.probability = deviation > 0 ? 0.5 * std::erfc(-std::log(ratio) / deviation / std::sqrt(2.0)) : ratio > 1;
}

// Why a limit of the request is not kept; empty: all are.
std::string broken_limit(const Request& request, const DeviceResult& result) {
  const auto check = [&](Metric metric, double limit, bool is_most) -> std::string {
    const Estimate* found = result.estimates.find(metric);
    if (found == nullptr || (is_most ? found->value <= limit : found->value >= limit)) return {};
    return fmt::format("{} would be {:.4g}, {} {:.4g} is asked", name_of(metric), found->value,
                       is_most ? "at most" : "at least", limit);
  };
  if (request.max_latency_ms) {
    const Metric latency = serves(result) ? Metric::RequestLatency : Metric::Latency;
    if (auto broken = check(latency, *request.max_latency_ms, true); !broken.empty()) return broken;
  }
  for (const Constraint& constraint : request.constraints) {
    if (auto broken = check(constraint.metric, constraint.limit, constraint.is_most); !broken.empty()) return broken;
  }
  return {};
}

std::string text_of(const Proposal& proposal) {
  std::string text;
  for (const Setting& setting : proposal.settings) text += setting.option + "=" + setting.value + ";";
  return proposal.edit == nullptr ? text : text + std::string(proposal.edit->name);
}

class Search {
 public:
  Search(const AdviseInput& input, const AskAgain& predict, AdviseReport& report)
      : input_(input), predict_(predict), report_(report) {}

  void run(const std::vector<Proposal>& proposals) {
    for (const Proposal& proposal : proposals) try_one(proposal);
    rank();
    combine();
  }

 private:
  // A set of proposals with its estimate.
  struct Trial {
    std::vector<std::size_t> parts;  // of kept_
    Change change;
  };

  void reject(const std::string& title, std::string reason) {
    if (report_.rejected.size() < kMostRejected) report_.rejected.push_back({title, std::move(reason)});
  }

  Result<Change> estimate(const std::vector<const Proposal*>& parts) {
    Request changed = input_.request;
    changed.explain = false;
    Change change;
    std::vector<const GraphEdit*> edits;
    for (const Proposal* part : parts) {
      for (const Setting& setting : part->settings) {
        FORERUN_CHECK(apply_setting(setting, changed));
        change.settings.push_back(setting);
      }
      if (part->edit != nullptr) {
        edits.push_back(part->edit);
        change.edits.emplace_back(part->edit->name);
      }
      change.risk = std::max(change.risk, part->risk);
      change.copies *= part->copies;
      if (parts.size() == 1) change.title = part->title;
    }
    if (!edits.empty()) {
      changed.network = edited(input_.network, edits);
      changed.is_transient = true;
    }
    ++report_.estimated;
    FORERUN_TRY(PredictReport answer, predict_(changed));
    change.result = std::move(answer.results.front());
    const auto after = score(report_.goal, change.result, change.copies);
    if (!after) {
      const auto& warnings = change.result.warnings;
      return bad_input(warnings.empty() ? std::string("it cannot be estimated") : warnings.back());
    }
    change.after = *after;
    compare(report_.before_goal, report_.is_lower_better, change);
    return change;
  }

  static Status apply_setting(const Setting& setting, Request& request) {
    const auto option = std::find_if(all_options().begin(), all_options().end(),
                                     [&](const Option& row) { return row.name == setting.option; });
    if (option == all_options().end()) return internal_error("no option --" + setting.option);
    if (setting.option == "device") request.devices.clear();
    return option->apply(request, setting.value);
  }

  // Why a change is not proposed; empty: it is.
  std::string problem(const Change& change) {
    if (report_.before.advice.fits && !change.result.advice.fits) return "it would not fit into the device's memory";
    if (!report_.before.advice.fits) return change.result.advice.fits ? "" : "it does not fit either";
    if (std::string broken = broken_limit(input_.request, change.result); !broken.empty()) return broken;
    return {};
  }

  void try_one(const Proposal& proposal) {
    if (!seen_.insert(text_of(proposal)).second) return;
    Result<Change> change = estimate({&proposal});
    if (!change) return reject(proposal.title, change.error().message);
    change->why = proposal.why;
    std::string reason = problem(*change);
    if (reason.empty() && report_.before.advice.fits && change->factor < kPays)
      reason = fmt::format("{:.2f} times as good", change->factor);
    if (!reason.empty()) reject(proposal.title, std::move(reason));
    if (problem(*change).empty() && change->factor >= kNeutral) kept_.push_back({proposal, std::move(*change)});
  }

  // Gains that differ by less than a hundredth count as one; the smaller risk then comes first.
  static bool is_better(const Change& a, const Change& b) {
    const auto rank = [](const Change& c) { return std::pair(-std::lround(std::log(c.factor) * 100), c.risk); };
    return rank(a) < rank(b);
  }

  // The best first; of one proposer at most as many as its row says.
  void rank() {
    std::stable_sort(kept_.begin(), kept_.end(),
                     [](const auto& a, const auto& b) { return is_better(a.second, b.second); });
    std::map<std::string_view, std::size_t> taken;
    std::erase_if(kept_, [&](const auto& entry) {
      const auto row = std::find_if(all_proposers().begin(), all_proposers().end(),
                                    [&](const Proposer& p) { return p.name == entry.first.proposer; });
      return taken[row->name]++ >= row->kept;
    });
    for (const auto& [proposal, change] : kept_) {
      if (change.factor >= kPays || !report_.before.advice.fits) report_.proposals.push_back(change);
    }
  }

  [[nodiscard]] bool conflict(const Proposal& a, const Proposal& b) const {
    if (a.edit == nullptr && b.edit == nullptr && a.proposer == b.proposer) return true;
    if (a.edit != nullptr && a.edit == b.edit) return true;
    for (const Setting& one : a.settings) {
      for (const Setting& other : b.settings) {
        if (one.option == other.option) return true;
      }
    }
    return false;
  }

  // Beam search: each round adds one proposal to each of the best combinations.
  void combine() {
    const std::size_t most = std::min(kCombined, kept_.size());
    std::vector<Trial> beam;
    for (std::size_t i = 0; i < most; ++i) {
      if (kept_[i].first.risk < Risk::Architecture) beam.push_back({{i}, kept_[i].second});
    }
    std::vector<Trial> found;
    for (std::size_t round = 1; round < kMostParts && !beam.empty(); ++round) {
      std::vector<Trial> next;
      std::set<std::vector<std::size_t>> tried;
      if (beam.size() > kBeam) beam.resize(kBeam);
      for (const Trial& trial : beam) extend(trial, most, tried, next);
      std::stable_sort(next.begin(), next.end(),
                       [](const Trial& a, const Trial& b) { return is_better(a.change, b.change); });
      found.insert(found.end(), next.begin(), next.end());
      beam = std::move(next);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Trial& a, const Trial& b) { return is_better(a.change, b.change); });
    constexpr std::size_t kShown = 3;
    for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i) {
      for (const std::size_t part : found[i].parts) found[i].change.parts.push_back(kept_[part].first.title);
      report_.together.push_back(std::move(found[i].change));
    }
  }

  void extend(const Trial& trial, std::size_t most, std::set<std::vector<std::size_t>>& tried,
              std::vector<Trial>& next) {
    for (std::size_t i = 0; i < most; ++i) {
      const Proposal& added = kept_[i].first;
      std::vector<std::size_t> parts = trial.parts;
      if (added.risk >= Risk::Architecture) continue;
      if (std::any_of(parts.begin(), parts.end(), [&](std::size_t p) { return conflict(kept_[p].first, added); }))
        continue;
      parts.push_back(i);
      std::sort(parts.begin(), parts.end());
      if (!tried.insert(parts).second) continue;
      std::vector<const Proposal*> proposals;
      for (const std::size_t part : parts) proposals.push_back(&kept_[part].first);
      Result<Change> change = estimate(proposals);
      const auto beats = [&](std::size_t part) { return change->factor > kPays * kept_[part].second.factor; };
      if (change && problem(*change).empty() && change->factor > kPays * trial.change.factor &&
          std::all_of(parts.begin(), parts.end(), beats))
        next.push_back({std::move(parts), std::move(*change)});
    }
  }

  const AdviseInput& input_;
  const AskAgain& predict_;
  AdviseReport& report_;
  std::set<std::string> seen_;
  std::vector<std::pair<Proposal, Change>> kept_;
};

Situation situation_of(const AdviseInput& input, const AdviseReport& report, std::span<const KernelShare> kernels) {
  Situation situation{*input.graph,         input.workload, input.device, input.catalogue, report.before.estimates,
                      report.before.advice, kernels,        report.time,  report.goal};
  situation.batch = input.before.workload.batch;
  const Request& request = input.request;
  if (serves(report.before)) situation.in_flight = request.concurrency.value_or(request.binding.batch.value_or(1));
  situation.devices = std::max(request.parallel.gpus.value_or(1), request.parallel.degrees.devices());
  situation.price_kind = request.price;
  if (const auto& facts = input.graph->transformer; facts && facts->heads > 0) {
    situation.heads = facts->heads;
    if (facts->kv_heads > 0) situation.kv_heads = facts->kv_heads;
  }
  return situation;
}

}  // namespace

Result<AdviseReport> search_changes(const AdviseInput& input, const AskAgain& predict) {
  AdviseReport report;
  report.workload = input.before.workload;
  report.before = input.before.results.front();
  report.device = report.before.device;
  report.device_name = input.device.name;
  report.goal = input.request.goal;
  report.warnings = report.before.warnings;
  report.estimated = 1;
  const Metric metric = metric_of(report.goal, serves(report.before));
  report.is_lower_better = report.goal != Goal::Throughput;
  report.metric = report.goal == Goal::Cost ? "usd_per_million" : std::string(name_of(metric));
  report.label = report.goal == Goal::Cost ? "cost of a million" : std::string(spec_of(metric).label);
  report.unit = report.goal == Goal::Cost ? "USD" : std::string(spec_of(metric).unit);
  const auto before = score(report.goal, report.before, 1);
  if (!before) {
    return bad_input(fmt::format("--goal {}: {} has no {}{}", name_of(report.goal), report.device, report.metric,
                                 report.warnings.empty() ? "" : ": " + report.warnings.back()));
  }
  report.before_goal = *before;
  std::vector<KernelShare> kernels;
  for (const BreakdownRow& row : report.before.breakdown) {
    kernels.push_back({row.kernel, row.kernel_class, row.terms});
    add(report.time, row.terms);
  }
  Search(input, predict, report).run(propose_changes(situation_of(input, report, kernels)));
  FORERUN_CHECK(input.request.cancel.check());  // a change that was given up would be missing
  return report;
}

}  // namespace forerun
