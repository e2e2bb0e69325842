// The fixed sample that feature schemas are hashed on: a few small graphs, run in several ways on invented devices. A
// bundle stores the hash of what the encoders make of it, so that it is refused once they compute anything else.
// Nothing here depends on data files. A change of the sample changes every hash, as a change of an encoder does.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "devices/device.hpp"
#include "features/kernel_facts.hpp"
#include "graph/graph.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

struct SampleRun {
  std::string_view name;
  std::shared_ptr<const Graph> graph;
  Workload workload;
  Totals totals;
  std::vector<Kernel> kernels;
};

struct SampleCase {
  std::size_t run = 0, device = 0;
};

struct SchemaSample {
  std::vector<SampleRun> runs;
  std::vector<Device> devices;
  std::vector<SampleCase> cases;  // every device with a run, every run on a device or two
  std::vector<Kernel> kernels;    // of every class, stage and arithmetic: for encoders of single kernels
};

[[nodiscard]] SchemaSample make_schema_sample();
[[nodiscard]] const SchemaSample& schema_sample();  // made once, on first use

// Calls visit(kernel, device, in_run) for the distinct kernels of every case, then for the kernels without a run, each
// on every second device.
template <typename Visit>
void visit_kernels(const SchemaSample& sample, Visit visit) {
  for (const SampleCase& one : sample.cases) {
    for (const KernelGroup& group : group_kernels(sample.runs[one.run].kernels))
      visit(*group.kernel, sample.devices[one.device], true);
  }
  for (std::size_t d = 0; d < sample.devices.size(); ++d) {
    for (std::size_t k = d % 2; k < sample.kernels.size(); k += 2) visit(sample.kernels[k], sample.devices[d], false);
  }
}

// Stands in for the roofline's estimate, so that the hash of an encoder does not depend on the roofline's constants.
[[nodiscard]] RooflineEstimate sample_estimate(const SampleRun& run, const Device& device);

}  // namespace forerun
