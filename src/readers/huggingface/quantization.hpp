// How the weights of linear layers are stored: by the precision asked for, or by a checkpoint's quantization_config.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"
#include "records/workload.hpp"

namespace forerun {

struct PrecisionTypes {
  DType weights;  // embeddings, norms, biases, heads
  DType activations;
  WeightStorage linear;
};

// fp8: one float32 scale per output channel; int8: one float16 scale per output channel; int4: per 128 inputs of an
// output channel a float16 scale and a 4-bit zero point, as GPTQ and AWQ store them; fp4: a one-byte scale per 16 inputs (NVFP4).
[[nodiscard]] PrecisionTypes types_of(Precision precision);

// A checkpoint's own quantisation: what it stores linear weights in, and which modules it leaves out.
struct CheckpointQuantization {
  bool is_present = false;
  std::string method;  // e.g. "fp8", "mxfp4"
  WeightStorage storage;
  bool experts_only = false;
  std::unordered_set<std::string> excluded;    // module names
  std::vector<std::string> excluded_patterns;  // with '*'
  [[nodiscard]] bool excludes(std::string_view module) const;
};
// Reads `quantization_config`; is_present is false when there is none or its method is not known (then `unknown` names
// it).
[[nodiscard]] CheckpointQuantization read_quantization(const Config& config, std::string& unknown);

}  // namespace forerun
