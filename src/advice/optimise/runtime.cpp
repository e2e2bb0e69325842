// Runtimes that launch the same kernels with less of the host's time.
#include <fmt/format.h>

#include "advice/optimise/proposal.hpp"

namespace forerun {

void propose_runtime(const Situation& situation, std::vector<Proposal>& proposals) {
  if (situation.workload.training || situation.workload.runtime != Runtime::Eager) return;
  proposals.push_back({"",
                       "replay the pass as one CUDA graph",
                       fmt::format("{:.0f} % of the time the device waits for the host to launch kernels",
                                   situation.share(situation.time.host + situation.time.launch) * 100),
                       {{"runtime", "graph"}}});
}

void propose_last_logits(const Situation& situation, std::vector<Proposal>& proposals) {
  const bool is_whole_sequence = situation.graph.origin.task == NetworkTask::Language && !situation.serves() &&
                                 !situation.workload.training && !situation.workload.binding.last_logits_only;
  if (!is_whole_sequence) return;
  proposals.push_back({"",
                       "compute logits for the last position only",
                       "the vocabulary's product runs for every position of the prompt; generation needs the last",
                       {{"last-logits", ""}}});
}

}  // namespace forerun
