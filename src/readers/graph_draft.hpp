// A graph under construction, operator by operator; shapes are inferred later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"

namespace forerun {

class GraphDraft {
 public:
  explicit GraphDraft(std::int64_t opset);
  ValueId input(Dims dims, DType dtype = DType::Float32);
  ValueId weight(Dims dims);
  // Adds the operator; its output, the graph's for now, is returned.
  ValueId apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {},
                std::string_view domain = "");

 protected:
  ValueId add_value(Dims dims, DType dtype);
  Graph graph_;
};

}  // namespace forerun
