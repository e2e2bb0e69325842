// Which steps of a program share one generated kernel, by Inductor's rules: element-wise steps join the kernel that
// makes their operand, reductions the chain before them, small operands are computed again inside their only user.
#pragma once

#include <cstdint>
#include <vector>

namespace forerun {

enum class FusedRole : std::uint8_t {
  Library,    // a call that nothing joins: convolution, product, attention
  Pointwise,  // one result for each element
  Reduction,  // norm, softmax, sum: joins what is computed on the same elements
  Window,     // pooling: reads its operand from memory; what follows joins it
};

struct FusionBuffer {
  double elements = 1, bytes = 0;
  bool leaves = false;  // a result of the program
};
struct BufferRead {
  std::int32_t buffer = -1;
  double elements = 0;  // as many as the step reads
};
// In execution order.
struct FusionStep {
  std::int32_t kernel = -1;
  FusedRole role = FusedRole::Library;
  std::vector<BufferRead> reads;
  double outside_bytes = 0;  // read beside the buffers: weights, the program's inputs
  std::int32_t writes = -1;
};
struct FusionInput {
  std::vector<FusionBuffer> buffers;
  std::vector<FusionStep> steps;
};

struct FusedGroup {
  std::vector<std::int32_t> kernels;  // of its steps, in order
  double read_bytes = 0, write_bytes = 0;
};

// In execution order: each group stands where its last step stood.
[[nodiscard]] std::vector<FusedGroup> fuse(const FusionInput& input);

}  // namespace forerun
