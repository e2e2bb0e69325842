// Mean and deviation of every input column, so that a network's inputs are near 0 ± 1; a constant column is only
// shifted.
#pragma once

#include <memory>

#include "training/gnn/graph_batch.hpp"
#include "training/gnn/program_writer.hpp"

namespace forerun {

struct Scaling {
  torch::Tensor node_mean, node_deviation, global_mean, global_deviation;  // undefined: inputs are taken as they are
};
[[nodiscard]] Scaling measure_scaling(std::span<const BatchItem> items);

// Keeps a Scaling as buffers, so that it follows its network to a device and into checkpoints.
class Scaler : public torch::nn::Module {
 public:
  explicit Scaler(const Scaling& scaling);
  [[nodiscard]] torch::Tensor nodes(const GraphBatch& batch) const;
  [[nodiscard]] torch::Tensor globals(const GraphBatch& batch) const;
  std::int32_t write_nodes(ProgramWriter& writer, const std::string& name) const;
  std::int32_t write_globals(ProgramWriter& writer, const std::string& name) const;
  [[nodiscard]] const Scaling& scaling() const { return scaling_; }

 private:
  Scaling scaling_;  // as measured, on the CPU
  torch::Tensor node_mean_, node_scale_, global_mean_, global_scale_;
};

}  // namespace forerun
