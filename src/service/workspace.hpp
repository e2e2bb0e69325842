// What the service keeps between requests: read networks, costed graphs, kernel lists. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "base/result.hpp"
#include "graph/graph.hpp"
#include "predictors/roofline/roofline.hpp"
#include "readers/reader.hpp"
#include "service/request.hpp"

namespace forerun {

// A network bound to its sizes, with everything that does not depend on the device.
struct Plan {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Totals> totals;
  Workload workload;
  std::vector<Kernel> kernels;
  MemoryFacts memory;
  // Equal kernels under one name, for breakdowns: group of each kernel, name of each group.
  std::vector<std::int32_t> kernel_group;
  std::vector<std::string> group_names;
};

class Workspace {
 public:
  Workspace(std::size_t networks, std::size_t analyses) : most_networks_(networks), most_analyses_(analyses) {}

  // The network a request names: given directly, a file, or a shipped one. A file is read again when it changed.
  Result<std::shared_ptr<const Network>> network_of(const Request& request);
  Result<std::shared_ptr<const Plan>> plan_of(const Request& request);

 private:
  struct FileEntry {
    std::int64_t modified = 0;
    std::uintmax_t size = 0;
    std::shared_ptr<const Network> network;
  };
  struct AnalysisKey {
    std::shared_ptr<const Network> network;  // keeps the address taken
    Binding binding;
    auto operator<=>(const AnalysisKey&) const = default;
  };
  struct Analysis {
    std::shared_ptr<const Graph> graph;
    std::shared_ptr<const Totals> totals;
    Precision stored = Precision::Fp32;  // what the file's weights are stored in
  };
  struct PlanKey {
    AnalysisKey analysis;
    Precision precision;
    bool training;
    Optimizer optimizer;
    auto operator<=>(const PlanKey&) const = default;
  };

  std::size_t most_networks_, most_analyses_;
  std::mutex mutex_;
  std::map<std::string, FileEntry> networks_;
  std::map<AnalysisKey, Analysis> analyses_;
  std::map<PlanKey, std::shared_ptr<const Plan>> plans_;
};

}  // namespace forerun
