// A graph of one operator, so that an operator timed alone is counted by the very code that counts networks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/kernels.hpp"
#include "base/result.hpp"
#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

class OneOperator {
 public:
  OneOperator();
  ValueId input(Dims dims, DType dtype = DType::Float32);
  ValueId weight(Dims dims);
  ValueId literal(std::vector<std::int64_t> ints);
  // Adds the operator; its output is returned (several nodes may be chained).
  ValueId apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}, std::string_view domain = "");

  // The kernels it runs as: those of the backward pass when `backward`, else of the forward one.
  [[nodiscard]] Result<std::vector<Kernel>> kernels(const Workload& workload, bool backward);

 private:
  ValueId add_value(Dims dims, DType dtype);
  Graph graph_;
};

}  // namespace forerun
