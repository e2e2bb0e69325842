// The graphs of the schema sample, drawn in code: no file and no reader's translation decides what they are.
#pragma once

#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

// A small image classifier: batch norms, depthwise and grouped convolutions, squeeze and excitation, all kinds of
// pooling.
[[nodiscard]] Graph sample_convolutions();
// Two transformer layers as a configuration is written out: a gated one with rotary embeddings and grouped heads, and
// one with layer norms, biases and its attention step by step. In decode one token follows
// a cache; a prompt and a decode step also have routed experts.
[[nodiscard]] Graph sample_transformer(Phase phase);
// Element-wise operators, norms, reductions, copies, gathers and a recurrent layer.
[[nodiscard]] Graph sample_mix();

}  // namespace forerun
