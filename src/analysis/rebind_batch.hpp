// Another batch for a file that fixes its own (torch.onnx.export's default).
#pragma once

#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun {

// Gives dimension 0 of the inputs, and what the file states as numbers because of it (targets of Reshape and Expand,
// sizes of Resize, declared shapes), the new batch. Refused, with the node that stands in the way, when a node cannot
// follow or when its work would not grow with the batch: an answer for a batch that was not run would be wrong.
// REQUIRES: every dimension of the inputs is a number
Status rebind_batch(Graph& graph, std::int64_t batch);

// The same for a file whose inputs have a free batch but whose nodes state numbers for a batch of 1 (exporters do that
// where they trace a part with an example): `single` is bound to 1 and takes `batch`, `batched` has it in its inputs.
Status follow_batch(Graph& single, const Graph& batched, std::int64_t batch);

}  // namespace forerun
