// Changes that may make a workload faster, cheaper or smaller. A proposer looks at the answered report and names
// changes; the service applies each and estimates again, so nothing here claims a gain.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advice/advice.hpp"
#include "advice/optimise/graph_edits.hpp"
#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "records/estimate.hpp"
#include "records/kernel_terms.hpp"
#include "records/workload.hpp"

namespace forerun {

enum class Goal : std::uint8_t { Latency, Throughput, Energy, Cost, Memory, Count };
[[nodiscard]] std::string_view name_of(Goal goal);
[[nodiscard]] std::optional<Goal> parse_goal(std::string_view name);

// What a change asks of the person who applies it.
enum class Risk : std::uint8_t {
  None,          // the same numbers, or a choice of deployment
  Numerics,      // other rounding; check the accuracy
  Calibration,   // quantised: calibrate and check the accuracy
  Architecture,  // another network: train anew
  Count
};
[[nodiscard]] std::string_view name_of(Risk risk);

struct Setting {
  std::string option, value;  // of the request, as on the command line
  bool operator==(const Setting&) const = default;
};

struct Proposal {
  std::string_view proposer;  // two proposals of one proposer exclude each other
  std::string title, why;
  std::vector<Setting> settings;
  const GraphEdit* edit = nullptr;  // of the network; nullptr: none
  Risk risk = Risk::None;
  int copies = 1;  // of the workload that share one card
};

// Time of the kernels of one kind.
struct KernelShare {
  std::string name;
  KernelClass kernel_class = KernelClass::Other;
  KernelTerms terms;  // µs
};

// The answered report, as far as proposers need it.
struct Situation {
  const Graph& graph;
  const Workload& workload;
  const Device& device;
  std::span<const Device> catalogue;
  const Estimates& estimates;
  const Advice& advice;
  std::span<const KernelShare> kernels;  // the longest first
  KernelTerms time;                      // of all kernels
  Goal goal = Goal::Throughput;
  std::int64_t batch = 1;
  std::int64_t in_flight = 0;  // requests of a serving question; 0: none is asked
  std::int64_t devices = 1;    // that work together
  std::string price_kind = {};
  std::optional<std::int64_t> heads = {};  // of attention, that tensor parallelism divides
  std::optional<std::int64_t> kv_heads = {};

  [[nodiscard]] bool serves() const { return in_flight > 0; }
  // Share of a term in the time of all kernels.
  [[nodiscard]] double share(double term) const { return time.total() > 0 ? term / time.total() : 0; }
};

struct Proposer {
  std::string_view name;
  std::size_t kept;  // of its proposals, the best
  void (*propose)(const Situation& situation, std::vector<Proposal>& proposals);
};
// One table: a new proposer is a file and a row.
[[nodiscard]] std::span<const Proposer> all_proposers();
[[nodiscard]] std::vector<Proposal> propose_changes(const Situation& situation);

// One function per row.
void propose_precision(const Situation& situation, std::vector<Proposal>& proposals);
void propose_runtime(const Situation& situation, std::vector<Proposal>& proposals);
void propose_batch(const Situation& situation, std::vector<Proposal>& proposals);
void propose_concurrency(const Situation& situation, std::vector<Proposal>& proposals);
void propose_last_logits(const Situation& situation, std::vector<Proposal>& proposals);
void propose_slices(const Situation& situation, std::vector<Proposal>& proposals);
void propose_device(const Situation& situation, std::vector<Proposal>& proposals);
void propose_sharing(const Situation& situation, std::vector<Proposal>& proposals);
void propose_optimizer(const Situation& situation, std::vector<Proposal>& proposals);
void propose_edits(const Situation& situation, std::vector<Proposal>& proposals);

}  // namespace forerun
