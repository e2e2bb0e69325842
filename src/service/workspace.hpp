// What the service keeps between requests: read networks, costed graphs, kernel lists. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "base/result.hpp"
#include "features/kernel_facts.hpp"
#include "graph/graph.hpp"
#include "predictors/reference_host.hpp"
#include "predictors/roofline/roofline.hpp"
#include "readers/reader.hpp"
#include "service/lru_map.hpp"
#include "service/request.hpp"

namespace forerun {

// The host's part of an eager pass, once it was learned.
struct LearnedHost {
  std::mutex mutex;
  std::optional<HostPart> part;
};

// A network bound to its sizes, with everything that does not depend on the device.
struct Plan {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Totals> totals;
  Workload workload;
  std::vector<Kernel> kernels;
  std::vector<Kernel> distinct_kernels;  // the same work with equal kernels joined (runs added): quick to sum up
  std::vector<KernelGroup> groups;       // group_kernels(kernels), the input of learned predictors
  std::vector<std::uint32_t> group_of;   // of each kernel
  std::vector<std::uint32_t> same_as;    // by kernel: the first one that does the same work as often
  MemoryFacts memory;
  // Equal kernels under one name, for breakdowns: group of each kernel, name of each group.
  std::vector<std::int32_t> kernel_group;
  std::vector<std::string> group_names;
  std::shared_ptr<LearnedHost> host = std::make_shared<LearnedHost>();
  std::vector<std::string> warnings;  // the graph's warnings and defaults assumed for the request
};

// The roofline's estimate of a plan; equal kernels are timed once.
[[nodiscard]] RooflineEstimate estimate_roofline(const Plan& plan, const Workload& workload, const Device& device,
                                                 const CancelToken& cancel = {});

class Workspace {
 public:
  // `nodes`: of all graphs kept together; a node takes about 600 bytes.
  Workspace(std::size_t networks, std::size_t analyses, std::size_t nodes = 4'000'000)
      : networks_(networks), analyses_(analyses, nodes), plans_(analyses, nodes) {}

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
    bool is_precision_given;
    bool in_engine;
    Runtime runtime;  // of a configuration; a recorded graph runs the same kernels under all but compiled
    auto operator<=>(const PlanKey&) const = default;
  };

  std::mutex mutex_;
  LruMap<std::string, FileEntry> networks_;
  LruMap<AnalysisKey, Analysis> analyses_;
  LruMap<PlanKey, std::shared_ptr<const Plan>> plans_;
};

}  // namespace forerun
