// How much an ONNX file may ask of us, beyond what read_context.hpp fixes.
#pragma once

#include <cstdint>

namespace forerun {

struct OnnxLimits {
  std::int64_t nodes = 1'000'000;        // of the file, bodies included
  std::int64_t inlined_nodes = 200'000;  // that calls of local functions expand to
};

}  // namespace forerun
