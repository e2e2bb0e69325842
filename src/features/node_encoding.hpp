// The node encodings of the two published predictors, number for number, over our operators.
#pragma once

#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "features/graph_tensors.hpp"
#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

// The inference predictor: 16 operators one-hot (an operator outside of them is all zero), 12 attributes of
// convolutions (strides 2, padding 4, dilation 2, groups, output channels, kernel 2; zero for the others), output
// shape 4. Static features 5: batch, MACs in 10^9, convolutions, dense layers, ReLUs.
inline constexpr std::int32_t kInferenceNodeWidth = 32;
inline constexpr std::int32_t kInferenceStaticWidth = 5;
// REQUIRES: count_costs
[[nodiscard]] GraphTensors encode_inference_nodes(const Graph& graph, const Workload& workload, EdgeKind edges);
[[nodiscard]] std::vector<std::string> inference_feature_names();

// The training predictor: 98 operators one-hot (the last stands for all others), input shape 6, output shape 6, MACs,
// parameters, bytes moved. Shapes and costs are log(1 + x): the original says only that features are normalised.
// Static features 6: batch, nodes, edges, total MACs, parameters, bytes moved.
inline constexpr std::int32_t kTrainingNodeWidth = 113;
inline constexpr std::int32_t kTrainingStaticWidth = 6;
inline constexpr std::int32_t kTrainingOperators = 98;
// REQUIRES: count_costs
[[nodiscard]] GraphTensors encode_training_nodes(const Graph& graph, const Workload& workload, EdgeKind edges);
[[nodiscard]] std::vector<std::string> training_feature_names();
// Two more static features, which the original does not have because all of its steps ran in one way: 16-bit arithmetic
// (0 or 1) and what the optimiser keeps per parameter (0 to 2).
inline constexpr std::int32_t kTrainingSettings = 2;
void put_training_settings(const Workload& workload, GraphTensors& graph);

}  // namespace forerun
