#include <algorithm>
#include <array>

#include "advice/optimise/proposal.hpp"

namespace forerun {
namespace {

constexpr std::array kProposers = {
    Proposer{"precision", 3, propose_precision}, Proposer{"runtime", 1, propose_runtime},
    Proposer{"batch", 1, propose_batch},         Proposer{"concurrency", 1, propose_concurrency},
    Proposer{"logits", 1, propose_last_logits},  Proposer{"slices", 1, propose_slices},
    Proposer{"sharing", 1, propose_sharing},     Proposer{"optimizer", 1, propose_optimizer},
    Proposer{"network", 5, propose_edits},       Proposer{"device", 2, propose_device},
};

constexpr std::array<std::string_view, std::size_t(Goal::Count)> kGoals = {"latency", "throughput", "energy", "cost",
                                                                           "memory"};
constexpr std::array<std::string_view, std::size_t(Risk::Count)> kRisks = {"none", "numerics", "calibration",
                                                                           "architecture"};

}  // namespace

std::string_view name_of(Goal goal) { return kGoals[std::size_t(goal)]; }
std::string_view name_of(Risk risk) { return kRisks[std::size_t(risk)]; }

std::optional<Goal> parse_goal(std::string_view name) {
  const auto found = std::find(kGoals.begin(), kGoals.end(), name);
  if (found == kGoals.end()) return std::nullopt;
  return Goal(found - kGoals.begin());
}

std::span<const Proposer> all_proposers() { return kProposers; }

std::vector<Proposal> propose_changes(const Situation& situation) {
  std::vector<Proposal> proposals;
  for (const Proposer& proposer : kProposers) {
    const std::size_t before = proposals.size();
    proposer.propose(situation, proposals);
    for (std::size_t i = before; i < proposals.size(); ++i) proposals[i].proposer = proposer.name;
  }
  return proposals;
}

}  // namespace forerun
