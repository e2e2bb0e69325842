// The networks: the two published designs and ours. Each can be written as a program for predictors/gnn.
#pragma once

#include <memory>
#include <vector>

#include "training/gnn/layers.hpp"

namespace forerun {

// Mean and deviation of every column, so that inputs are near 0 ± 1; a constant column is only shifted.
struct Scaling {
  torch::Tensor node_mean, node_deviation, global_mean, global_deviation;  // undefined: inputs are taken as they are
};
[[nodiscard]] Scaling measure_scaling(std::span<const BatchItem> items);

// The published inference predictor: three blocks of two graph layers, sum read-out joined with the static features,
// three fully connected layers, outputs through −log σ. `kind` Count: no graph layers, the plain MLP on static features.
struct InferenceNetOptions {
  LayerKind kind = LayerKind::Sage;
  std::int64_t node_width = 32, global_width = 5, width = 512, outputs = 3;
  double dropout = 0.05;
  bool positive = true;  // false: linear outputs, for targets on a log scale
};
class InferenceNet : public torch::nn::Module {
 public:
  InferenceNet(const InferenceNetOptions& options, Scaling scaling);
  torch::Tensor forward(const GraphBatch& batch);                // B x outputs
  [[nodiscard]] ProgramWriter write() const;

 private:
  InferenceNetOptions options_;
  Scaling scaling_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  std::vector<torch::nn::Linear> dense_;
};

// The published graph auto-encoder: four SAGE layers with batch norm, ReLU and dropout; the decoder is σ(ZZᵀ).
class GraphEncoder : public torch::nn::Module {
 public:
  GraphEncoder(std::int64_t in, std::int64_t width, Scaling scaling, double dropout = 0.5);  // in → 2 width → width → width → width
  torch::Tensor forward(const GraphBatch& batch);                // N x width
  std::int32_t write(ProgramWriter& writer) const;
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  std::int64_t width_;
  double dropout_;
  Scaling scaling_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  std::vector<torch::nn::BatchNorm1d> norms_;
};
// Binary cross-entropy of the edges against as many node pairs of the same graph drawn at random; ε 1e-15.
[[nodiscard]] torch::Tensor reconstruction_loss(const torch::Tensor& embedding, const GraphBatch& batch, std::uint64_t seed);

// The published training predictor: two SAGE layers, sum read-out joined with the summed embedding of a frozen encoder and
// the static features, two fully connected layers, one output.
class TrainingNet : public torch::nn::Module {
 public:
  // `encoder` null: the supervised network alone.
  TrainingNet(std::int64_t node_width, std::int64_t global_width, std::int64_t width, std::shared_ptr<GraphEncoder> encoder, Scaling scaling);
  torch::Tensor forward(const GraphBatch& batch);                // B x 1
  [[nodiscard]] ProgramWriter write() const;

 private:
  std::int64_t node_width_, global_width_;
  std::shared_ptr<GraphEncoder> encoder_;  // not a sub-module: its weights do not change
  Scaling scaling_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  std::vector<torch::nn::Linear> dense_;
};

// Ours: kernels as nodes. Each node's state starts from its features and the graph's, passes residual graph layers, and
// gives the log-ratios of device and host time; the time-weighted mean of states gives those of memory, power, energy.
struct KernelNetOptions {
  LayerKind kind = LayerKind::Sage;
  std::int64_t node_width = 0, global_width = 0, width = 64;
  int layers = 2;
  double dropout = 0;
};
struct KernelNetOutput {
  torch::Tensor node;   // N x 2
  torch::Tensor graph;  // B x 3
};
class KernelNet : public torch::nn::Module {
 public:
  KernelNet(const KernelNetOptions& options, Scaling scaling);
  KernelNetOutput forward(const GraphBatch& batch);
  torch::Tensor embed(const GraphBatch& batch);                  // N x width: states after the graph layers
  [[nodiscard]] ProgramWriter write() const;
  [[nodiscard]] const Scaling& scaling() const { return scaling_; }

 private:
  KernelNetOptions options_;
  Scaling scaling_;
  torch::nn::Linear from_node_{nullptr}, from_globals_{nullptr}, node_hidden_{nullptr}, node_out_{nullptr}, graph_hidden_{nullptr}, graph_out_{nullptr};
  std::vector<std::shared_ptr<GraphLayer>> layers_;
};

}  // namespace forerun
