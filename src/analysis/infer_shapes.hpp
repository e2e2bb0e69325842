// Shape inference with hooks, which re-binding a fixed batch needs.
#pragma once

#include <functional>

#include "base/cancel_token.hpp"
#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun {

struct InferenceHooks {
  std::function<void(Node&)> before;                            // may give the node other operands
  std::function<void(Node&)> after;                             // its results are set as far as they are known
  std::function<void(const Node&, const std::string&)> failed;  // its shape rule: what does not fit
};

// As infer_shapes(Graph&). REQUIRES: bind_dimensions
Status infer_shapes(Graph& graph, const InferenceHooks& hooks, const CancelToken& cancel = {});

}  // namespace forerun
