#include "analysis/analyze.hpp"

namespace forerun {

Result<Graph> analyze(const Network& network, const Binding& binding) {
  FORERUN_TRY(Graph graph, network.expand(binding));
  FORERUN_CHECK(bind_dimensions(graph, binding));
  FORERUN_CHECK(infer_shapes(graph));
  FORERUN_CHECK(count_costs(graph));
  return graph;
}

}  // namespace forerun
