// Turns a trained LibTorch network into the program that predictors/gnn runs, its weights rounded to 16 bits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "bundle/bundle.hpp"
#include "predictors/gnn/program.hpp"
#include "training/gnn/stacked_linear.hpp"

namespace forerun {

inline constexpr std::int32_t kNodesRegister = 0;
inline constexpr std::int32_t kGlobalsRegister = 1;

class ProgramWriter {
 public:
  ProgramWriter(std::int32_t node_width, std::int32_t global_width) {
    program_.node_width = node_width, program_.global_width = global_width;
  }

  // Index of a new tensor; a vector becomes one row.
  std::int32_t tensor(const std::string& name, const torch::Tensor& values, bool half = true);
  // Register of the step's output.
  std::int32_t step(StepKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> tensors);
  std::int32_t linear(std::int32_t input, const StackedLinear& layer, const std::string& name, std::int64_t member);
  // (x - mean) / deviation, kept in 32 bits.
  std::int32_t standardize(std::int32_t input, const torch::Tensor& mean, const torch::Tensor& deviation,
                           const std::string& name);
  // What a batch norm does after training.
  std::int32_t batch_norm(std::int32_t input, const torch::nn::BatchNorm1d& norm, const std::string& name);

  void set_outputs(std::vector<std::int32_t> registers) { program_.outputs = std::move(registers); }
  [[nodiscard]] const GnnProgram& program() const { return program_; }
  // Adds the program to the manifest and the weights to a new bundle. Errors: a program that does not hold together.
  [[nodiscard]] Result<BundleWriter> bundle(BundleManifest manifest) const;

 private:
  GnnProgram program_;
  std::vector<std::pair<std::string, std::string>> sections_;
};

// Rounds every parameter to 16 bits, so that the network computes with the numbers that ship.
void round_to_half(torch::nn::Module& module);

}  // namespace forerun
