// A trained graph network as data: a list of steps over registers, each step one small operation with its weights.
// Training writes it, this layer checks it and runs it; a new architecture made of these steps needs no new code here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bundle/bundle.hpp"

namespace forerun {

enum class StepKind : std::uint8_t {
  Linear,  // x Wᵀ + b                                              tensors: weight, bias
  Sage,    // x Sᵀ + mean(sources) Nᵀ + b                           tensors: self, neighbours, bias
  Gcn,     // normalised sum over sources and self, then linear     tensors: weight, bias
  Gat,     // attention over sources and self, one head             tensors: weight, from, to, bias
  Gin,     // x + sum(sources)
  Relu,
  Normalize,      // each row to Euclidean length 1
  Affine,         // x * scale + shift, per column                         tensors: scale, shift
  Add,            // of two registers of one shape
  Concat,         // columns of two or more registers, side by side
  SumPool,        // nodes to one row
  WeightedMean,   // nodes to one row, weighted by the node weights given with the graph
  Broadcast,      // one row to every node
  NegLogSigmoid,  // −log σ(x): positive
  Limit,          // clamps to ±8: standardised inputs far outside the training range
  Log1p,          // log(1 + max(x, 0))
  Count,
};
[[nodiscard]] std::string_view name_of(StepKind kind);

inline constexpr float kStepLimit = 8;  // of Limit

struct ProgramTensor {
  std::string name;  // of its section
  std::int32_t rows = 0, columns = 0;
  bool half = true;  // stored in 16 bits; else in 32
};

// Registers 0 and 1 are the node features and the globals; step i writes register i + 2.
struct Step {
  StepKind kind = StepKind::Relu;
  std::vector<std::int32_t> inputs;   // registers
  std::vector<std::int32_t> tensors;  // indices into GnnProgram::tensors
};

struct GnnProgram {
  std::int32_t node_width = 0, global_width = 0;
  std::vector<ProgramTensor> tensors;
  std::vector<Step> steps;
  std::vector<std::int32_t> outputs;  // registers
};

struct RegisterShape {
  bool per_node = false;
  std::int32_t width = 0;
};
// Checks every register, tensor and width; returns the shape of each register. Errors name the step.
[[nodiscard]] Result<std::vector<RegisterShape>> check_program(const GnnProgram& program);

[[nodiscard]] std::string program_to_json(const GnnProgram& program);
[[nodiscard]] Result<GnnProgram> program_from_json(std::string_view json);

// 16-bit floats (IEEE half), little-endian.
[[nodiscard]] std::string pack_half(const std::vector<float>& numbers);
[[nodiscard]] std::string pack_float(const std::vector<float>& numbers);

}  // namespace forerun
