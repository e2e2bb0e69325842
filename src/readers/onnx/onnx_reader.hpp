// ONNX files: a zero-copy walk over the protobuf. Weights are skipped, only small constants are decoded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "readers/format.hpp"
#include "readers/onnx/limits.hpp"

namespace forerun {

// Is this a ModelProto with a graph? Looks at the top-level fields only.
bool is_onnx(const Source& source);
Result<std::unique_ptr<Network>> read_onnx_source(const Source& source);

// Reads a model from memory. `name` opens every message; `folder` is where external data lies: when it is empty (an
// upload) tensors stored outside count as weight-free.
Result<std::unique_ptr<Network>> read_onnx(std::string_view bytes, const std::string& name, const Folder& folder,
                                           OnnxLimits limits = {}, const CancelToken& cancel = {});

}  // namespace forerun
