// Operator sweeps into examples: our own operators.csv and the public ones (NeuSight, AIConfigurator).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

struct OperatorOptions {
  std::size_t rows_per_device = 4000;  // of one public table and device; a fixed, evenly spread choice
  bool engines =
      false;  // also experts, latent attention, quantised kernels and TensorRT-LLM's: what serving engines run
};

// data/measurements/*-operators/operators.csv of every campaign below `folder`.
Result<std::vector<OperatorExample>> load_operator_campaigns(const std::string& folder);

// neusight_ops_*.csv.gz and aic_*.csv.gz of `folder`; an absent file adds nothing.
Result<std::vector<OperatorExample>> load_public_operators(const std::string& folder,
                                                           const OperatorOptions& options = {});

// vidur_llm_layer_ops.csv.gz of `folder`: the operators of decoder layers by tokens and tensor parallelism.
Result<std::vector<OperatorExample>> load_layer_operators(const std::string& folder,
                                                          const OperatorOptions& options = {});

}  // namespace forerun
