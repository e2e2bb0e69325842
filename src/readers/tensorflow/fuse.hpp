// Recognises what Keras and TensorFlow write out as element-wise operators and PyTorch runs as one: batch and layer
// normalisation, GELU.
#pragma once

#include "graph/graph.hpp"

namespace forerun::tensorflow {

// Shapes must be known; nodes that are left without a reader are removed.
void fuse_composites(Graph& graph);

// The same for what is no normalisation: see fuse_idioms.cpp.
void fuse_idioms(Graph& graph);

}  // namespace forerun::tensorflow
