// The analysis of a graph, pass by pass, and all of it in one call.
#pragma once

#include "base/cancel_token.hpp"
#include "base/result.hpp"
#include "graph/graph.hpp"
#include "readers/reader.hpp"
#include "records/workload.hpp"

namespace forerun {

// Gives every free dimension of the inputs a number: by name, by --batch and --seq, else a default that is reported in
// graph.warnings. A --batch that the file fixes otherwise is re-bound (rebind_batch.hpp). Errors: a --dim that names no
// dimension, a non-positive number, a batch that the file cannot run.
Status bind_dimensions(Graph& graph, const Binding& binding);

// Sets type, shape and (for small constants) contents of every value it can; what it cannot is reported in warnings.
// REQUIRES: bind_dimensions
Status infer_shapes(Graph& graph, const CancelToken& cancel = {});

// Fills Node::cost and Block::runs. Errors: a total that overflows. REQUIRES: infer_shapes
Status count_costs(Graph& graph, const CancelToken& cancel = {});

// Peak of simultaneously live activations over the execution order, in bytes; views share their input's storage.
[[nodiscard]] std::int64_t count_peak_activations(const Graph& graph);

// Sets Node::needed in the main block; every node is needed where the file names no results.
void mark_needed(Graph& graph);

// expand, bind, infer, count, mark.
Result<Graph> analyze(const Network& network, const Binding& binding, const CancelToken& cancel = {});

}  // namespace forerun
