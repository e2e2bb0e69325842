// MosaicML's training runs of MPT networks on 8 to 512 devices, asked of the service as a user would ask them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "service/service.hpp"

namespace forerun {

struct MptRun {
  std::string network, device, precision, architecture;
  std::int64_t devices = 8, sequence = 2048;
  bool is_checkpointed = false, fits = false;
  bool fits_factors = false;  // one of the networks that the factors are fitted on
  double measured_ms = 0, estimated_ms = 0, memory_mb = 0, capacity_mb = 0;
  double others_ms = 0, attention_ms = 0, fixed_ms = 0;  // of the estimate: kernels, attention, messages and update
};
// `factors`: of the steps; absent: those that ship, with the attention of the measured runs. Runs that are not answered
// are counted in `skipped` by reason.
Result<std::vector<MptRun>> ask_mpt_runs(const Service& service, const std::string& public_data,
                                         std::optional<StepFactors> factors, bool with_shipped_attention,
                                         std::map<std::string, std::size_t>& skipped);

// The two factors that fit the runs marked for it best, by architecture. REQUIRES: asked with factors of 1.
[[nodiscard]] std::map<std::string, StepFactors> fit_step_factors(const std::vector<MptRun>& runs);

}  // namespace forerun
