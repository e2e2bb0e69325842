// `forerun advise`: changes of a workload, each estimated again, the ones that pay ranked and combined.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "advice/optimise/proposal.hpp"
#include "base/result.hpp"
#include "service/report.hpp"
#include "service/request.hpp"

namespace forerun {

// A change, or several together, as estimated.
struct Change {
  std::vector<std::string> parts;  // titles of what a combination is made of; empty for a single change
  std::string title, why;
  std::vector<Setting> settings;
  std::vector<std::string> edits;  // of the network, by name
  Risk risk = Risk::None;
  int copies = 1;
  DeviceResult result;
  Estimate after;  // of the goal
  // How many times better than before, with a 90 % interval that takes both estimates' errors as independent.
  double factor = 1, low = 1, high = 1;
  double probability = 0;  // that it is better at all
};

struct RejectedChange {
  std::string title, reason;
};

struct AdviseReport {
  WorkloadInfo workload;
  std::string device, device_name;
  Goal goal = Goal::Throughput;
  std::string metric, label, unit;  // what the goal is counted in
  bool is_lower_better = false;
  DeviceResult before;
  Estimate before_goal;
  KernelTerms time;               // of the workload as asked, µs
  std::vector<Change> proposals;  // the best first
  std::vector<Change> together;   // combinations, the best first
  std::vector<RejectedChange> rejected;
  std::size_t estimated = 0;  // workloads that were estimated
  std::vector<std::string> warnings;
};

// What the search needs of the service.
struct AdviseInput {
  const Request& request;
  std::shared_ptr<const Network> network;
  std::shared_ptr<const Graph> graph;  // analysed
  Workload workload;
  const Device& device;
  std::span<const Device> catalogue;
  const PredictReport& before;
};
using AskAgain = std::function<Result<PredictReport>(const Request&)>;
Result<AdviseReport> search_changes(const AdviseInput& input, const AskAgain& predict);

[[nodiscard]] std::string to_json(const AdviseReport& report);

}  // namespace forerun
