#include "evaluation/ship/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace forerun {
namespace {

// Sums over one network's rows of a group.
struct Sums {
  double rows = 0, candidate = 0, against = 0;  // absolute percentage errors
  double with_interval = 0, covered = 0;
  void add(const Sums& other) {
    rows += other.rows, candidate += other.candidate, against += other.against;
    with_interval += other.with_interval, covered += other.covered;
  }
  [[nodiscard]] double difference() const { return rows > 0 ? (candidate - against) / rows : 0; }
  [[nodiscard]] double coverage() const { return with_interval > 0 ? 100 * covered / with_interval : 0; }
};

struct Group {
  std::map<std::string, Sums> networks;
  std::size_t unanswered = 0;  // rows that only the other one answers
};

double error_of(const Judged& judged) { return 100 * std::abs(judged.predicted / judged.measured - 1); }

Sums sums_of(const Judged& candidate, const Judged& against) {
  Sums sums{.rows = 1, .candidate = error_of(candidate), .against = error_of(against)};
  if (candidate.high > 0) {
    sums.with_interval = 1;
    sums.covered = candidate.low <= candidate.measured && candidate.measured <= candidate.high ? 1 : 0;
  }
  return sums;
}

// The ends of the central share of values.
std::pair<double, double> central(std::vector<double> values) {
  const double tail = (1 - kCentral) / 2;
  return {quantile(values, tail), quantile(values, 1 - tail)};
}

void add_noise(GateRow& row, const std::vector<Sums>& networks) {
  std::mt19937_64 random(1);
  std::vector<double> differences;
  for (int i = 0; i < kResamples; ++i) {
    Sums drawn;
    for (std::size_t n = 0; n < networks.size(); ++n) drawn.add(networks[random() % networks.size()]);
    differences.push_back(drawn.difference());
  }
  std::tie(row.difference_low, row.difference_high) = central(std::move(differences));
  const double n = double(networks.size()), p = row.coverage / 100, z2 = kNormalQuantile * kNormalQuantile;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n),
               half = kNormalQuantile * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  row.coverage_low = 100 * (middle - half);
  row.coverage_high = 100 * (middle + half);
}

GateRow judge_group(const std::string& name, const Group& group, const GateOptions& options) {
  GateRow row;
  row.group = name;
  row.networks = group.networks.size();
  Sums all;
  std::vector<Sums> networks;
  for (const auto& [network, sums] : group.networks) {
    all.add(sums);
    networks.push_back(sums);
  }
  row.rows = std::size_t(all.rows);
  if (group.unanswered > 0) row.refusals.push_back(fmt::format("{} runs are no longer answered", group.unanswered));
  if (networks.empty()) return row;
  row.candidate = all.candidate / all.rows;
  row.against = all.against / all.rows;
  row.coverage = all.coverage();
  add_noise(row, networks);
  row.is_judged = networks.size() >= options.fewest_networks;
  if (!row.is_judged) return row;
  if (!std::isfinite(row.candidate) || row.difference_low > kToleratedShare * row.against)
    row.refusals.emplace_back("worse");
  if (all.with_interval < all.rows) {
    row.refusals.emplace_back("answers without an interval");
  } else if (row.coverage_high < kLowestCoverage) {
    row.refusals.emplace_back("intervals too narrow");
  } else if (row.coverage_low > kHighestCoverage) {
    row.refusals.emplace_back("intervals too wide");
  }
  return row;
}

}  // namespace

bool GateResult::has_passed() const {
  return std::any_of(rows.begin(), rows.end(), [](const GateRow& row) { return row.is_judged; }) &&
         std::all_of(rows.begin(), rows.end(), [](const GateRow& row) { return row.refusals.empty(); });
}

GateResult judge_candidate(const BundleAnswers& candidate, const BundleAnswers& against, const GateOptions& options) {
  std::map<std::string_view, const BundleAnswer*> answered;
  for (const BundleAnswer& answer : candidate) answered[answer.key] = &answer;
  std::map<std::string, Group> groups;
  for (const BundleAnswer& other : against) {
    Group& group = groups[other.group];
    const auto found = answered.find(other.key);
    if (found == answered.end()) {
      ++group.unanswered;
    } else {
      group.networks[other.judged.network].add(sums_of(found->second->judged, other.judged));
    }
  }
  GateResult result;
  for (const auto& [name, group] : groups) result.rows.push_back(judge_group(name, group, options));
  return result;
}

ReportSection gate_section(const GateResult& result, const std::string& candidate, const std::string& against) {
  ReportTable table{.columns = {"metric", "runs", "networks", "MAPE %", "against %", "difference, points", "coverage %",
                                "coverage, noise", "verdict"}};
  for (const GateRow& row : result.rows) {
    std::string verdict = row.is_judged ? "passed" : "too few networks to judge";
    if (!row.refusals.empty()) verdict = fmt::format("refused: {}", fmt::join(row.refusals, ", "));
    table.rows.push_back({row.group, std::to_string(row.rows), std::to_string(row.networks),
                          fmt::format("{:.2f}", row.candidate), fmt::format("{:.2f}", row.against),
                          fmt::format("{:+.2f} … {:+.2f}", row.difference_low, row.difference_high),
                          fmt::format("{:.1f}", row.coverage),
                          fmt::format("{:.1f} … {:.1f}", row.coverage_low, row.coverage_high), std::move(verdict)});
  }
  return {.id = "ship",
          .heading = fmt::format("{} against {}", candidate, against),
          .text = fmt::format(
              "Measured runs of networks that neither has learned from. Noise: the central {:.0f} % over {} draws of "
              "networks with replacement; for coverage, Wilson's interval with networks as the sample. Refused: an "
              "error that is higher by more than {:.0f} % of the other's, or a "
              "coverage of the 90 % intervals outside {:.0f} to {:.0f} %, where noise alone does not explain it.",
              100 * kCentral, kResamples, 100 * kToleratedShare, kLowestCoverage, kHighestCoverage),
          .tables = {std::move(table)}};
}

}  // namespace forerun
