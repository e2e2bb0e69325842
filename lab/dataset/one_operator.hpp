// A graph of one operator, so that an operator timed alone is counted by the very code that counts networks.
#pragma once

#include <vector>

#include "analysis/kernels.hpp"
#include "base/result.hpp"
#include "readers/graph_draft.hpp"
#include "records/workload.hpp"

namespace forerun {

enum class OperatorPart : std::uint8_t { Forward, TrainingForward, Backward, Update };

class OneOperator : public GraphDraft {  // several nodes may be chained
 public:
  OneOperator();
  ValueId input(Dims dims, DType dtype = DType::Float32);  // takes a gradient, as the values inside a network do
  ValueId literal(std::vector<std::int64_t> ints);

  // The kernels that part of it runs as.
  [[nodiscard]] Result<std::vector<Kernel>> kernels(const Workload& workload,
                                                    OperatorPart part = OperatorPart::Forward);
};

}  // namespace forerun
