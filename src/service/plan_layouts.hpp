// `forerun plan`: layouts of a network on several devices, searched and ranked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/planner.hpp"
#include "service/report.hpp"

namespace forerun {

struct PlannedLayout {
  Candidate layout;
  double step_ms = 0, samples_per_s = 0, memory_mb = 0, mfu = 0;
  std::optional<double> tokens_per_s, usd_per_hour, usd_per_million;  // a million samples
  StepBreakdown times;
  RankMemory memory;
};
// Layouts that cannot be used, by reason, with the one that came nearest.
struct LayoutProblem {
  std::string why;
  std::int64_t layouts = 0;
};
struct LayoutReport {
  WorkloadInfo workload;
  std::string device, system;
  std::int64_t devices = 1, nodes = 1, considered = 0, fitting = 0;
  std::vector<PlannedLayout> best;  // fastest first, at most ten
  std::vector<LayoutProblem> problems;
  std::vector<std::string> warnings;
};
[[nodiscard]] std::string to_json(const LayoutReport& report);

}  // namespace forerun
