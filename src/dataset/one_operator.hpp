// A graph of one operator, so that an operator timed alone is counted by the very code that counts networks.
#pragma once

#include <vector>

#include "analysis/kernels.hpp"
#include "base/result.hpp"
#include "dataset/graph_draft.hpp"
#include "records/workload.hpp"

namespace forerun {

class OneOperator : public GraphDraft {  // several nodes may be chained
 public:
  OneOperator();
  ValueId literal(std::vector<std::int64_t> ints);

  // The kernels it runs as: those of the backward pass when `backward`, else of the forward one.
  [[nodiscard]] Result<std::vector<Kernel>> kernels(const Workload& workload, bool backward);
};

}  // namespace forerun
