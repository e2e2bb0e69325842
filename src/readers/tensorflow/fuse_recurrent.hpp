// Recognises the loop over time steps that Keras and TensorFlow write for an LSTM, a GRU or a plain recurrent layer: it
// becomes the one operator that PyTorch runs.
#pragma once

#include "graph/graph.hpp"

namespace forerun::tensorflow {

// Shapes must be known. A loop whose body does anything else stays as it is.
void fuse_recurrent_loops(Graph& graph);

}  // namespace forerun::tensorflow
