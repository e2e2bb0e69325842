// Weights that an exporter writes as nodes (Constant, ConstantOfShape) instead of initialisers.
#pragma once

#include "graph/graph.hpp"

namespace forerun::onnx {

// Gives such outputs the role Weight.
//  - A Constant's floating-point or quantised tensor of more than one element, when an operator that computes reads it
//    as an operand, directly or through operators that only rearrange it. Scalars (1.4142, an epsilon) are code.
//  - A ConstantOfShape's floating-point tensor whose shape is stored in the file, when it takes the place of a weight:
//    of a convolution, product, recurrent cell or normalisation; or, one value per channel, of a scale or shift.
// Not of PyTorch's exports: there parameters are always initialisers and a Constant is a literal of the Python code.
// REQUIRES: graph.origin
void mark_stored_weights(Graph& graph);

}  // namespace forerun::onnx
