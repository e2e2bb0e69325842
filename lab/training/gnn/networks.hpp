// The networks: the two published designs and ours. Each is a stack of K independent networks that train side by side
// on the same batches, and each member can be written as a program for predictors/gnn.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "training/gnn/layers.hpp"
#include "training/gnn/scaler.hpp"

namespace forerun {

// How the nodes' states become the graph's row. LogSum: log(1 + sum of what is positive), near linear in the logarithm
// of a network's cost where the states count it.
enum class Pool : std::uint8_t { Sum, Mean, LogSum };

// The published inference predictor: three blocks of two graph layers, sum read-out joined with the static features,
// three fully connected layers, outputs through −log σ. `kind` Count: no graph layers, the plain MLP on static
// features.
struct InferenceNetOptions {
  LayerKind kind = LayerKind::Sage;
  std::int64_t node_width = 32, global_width = 5, width = 512, outputs = 3;
  double dropout = 0.05;
  bool positive = true;  // false: linear outputs, for targets on a log scale
  std::int64_t stack = 1;
  Pool pool = Pool::Sum;
  bool unit_states = true;  // SAGE's states are scaled to length 1, as published
};
class InferenceNet : public torch::nn::Module {
 public:
  InferenceNet(const InferenceNetOptions& options, const Scaling& scaling);
  torch::Tensor forward(const GraphBatch& batch);  // K x B x outputs
  [[nodiscard]] ProgramWriter write(std::int64_t member) const;

 private:
  [[nodiscard]] bool scales_states() const { return options_.kind == LayerKind::Sage && options_.unit_states; }
  InferenceNetOptions options_;
  std::shared_ptr<Scaler> scaler_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  std::vector<StackedLinearPtr> dense_;
};

// The published graph auto-encoder: four SAGE layers with batch norm, ReLU and dropout; the decoder is σ(ZZᵀ). One
// network, no stack.
class GraphEncoder : public torch::nn::Module {
 public:
  GraphEncoder(std::int64_t in, std::int64_t width, const Scaling& scaling,
               double dropout = 0.5);              // in → 2 width → width → width → width
  torch::Tensor forward(const GraphBatch& batch);  // N x width. REQUIRES: a batch of a stack of 1
  torch::Tensor embed(const GraphBatch& batch);    // B x width: the sum over each graph's nodes
  std::int32_t write(ProgramWriter& writer) const;
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  std::int64_t width_;
  double dropout_;
  std::shared_ptr<Scaler> scaler_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  std::vector<torch::nn::BatchNorm1d> norms_;
};
// Binary cross-entropy of the edges against as many node pairs of the same graph drawn at random; ε 1e-15. Embedding:
// K·N rows. Random numbers are torch's.
[[nodiscard]] torch::Tensor reconstruction_loss(const torch::Tensor& embedding, const GraphBatch& batch);

// The published training predictor: two SAGE layers, sum read-out joined with the summed embedding of a frozen encoder
// and the static features, two fully connected layers, one output.
struct TrainingNetOptions {
  std::int64_t node_width = 113, global_width = 6, width = 512;
  std::int64_t embedding = 0;  // width of the encoder's embedding; 0: the supervised network alone
  std::int64_t stack = 1;
  Pool pool = Pool::Sum;
  bool unit_states = false;  // as NNLQP's network scales them
  double dropout = 0.05;
  // Of the embeddings over the graphs to learn from; undefined: taken as they are.
  torch::Tensor embedding_mean = {}, embedding_deviation = {};
};
class TrainingNet : public torch::nn::Module {
 public:
  TrainingNet(const TrainingNetOptions& options, const Scaling& scaling);
  torch::Tensor forward(const GraphBatch& batch,
                        const torch::Tensor& embedding = {});  // K x B x 1; embedding B x width, or K x B x width
  // One program for several members, an output each.
  [[nodiscard]] ProgramWriter write(std::span<const std::int64_t> members, const GraphEncoder* encoder) const;

 private:
  TrainingNetOptions options_;
  std::shared_ptr<Scaler> scaler_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  std::vector<StackedLinearPtr> dense_;
  torch::Tensor embedding_mean_, embedding_scale_;
};

// Ours: kernels as nodes. Each node's state starts from its features and the run's settings, passes residual graph
// layers, and gives the log-ratios of device and host time; the time-weighted mean of states and all that is known of
// the graph give those of memory, power and energy and corrections of the latency.
struct KernelNetOptions {
  LayerKind kind = LayerKind::Sage;
  std::int64_t node_width = 0, global_width = 0, width = 64;
  std::int64_t settings = 0;  // how many of the globals, the first ones, nodes see
  int layers = 2;
  double dropout = 0, global_dropout = 0;
  std::int64_t stack = 1;
  // Members without the trees' kernel times: they do not see that column, and their device times are relative to the
  // roofline's. Their errors are less like the trees'. One entry per member; empty: all see it.
  std::vector<bool> without_times = {};
  std::int64_t timed_column = 0;
};
struct KernelNetOutput {
  torch::Tensor node;   // K x N x kGnnNodeHeads
  torch::Tensor graph;  // K x B x kGnnGraphHeads
};
class KernelNet : public torch::nn::Module {
 public:
  KernelNet(const KernelNetOptions& options, const Scaling& scaling);
  KernelNetOutput forward(const GraphBatch& batch);
  torch::Tensor embed(const GraphBatch& batch);  // K x N x width: states after the graph layers
  // One program for several members: outputs are node and graph heads of the first, of the second, …
  [[nodiscard]] ProgramWriter write(std::span<const std::int64_t> members) const;
  // One member as a stack of one, on the CPU.
  [[nodiscard]] std::shared_ptr<KernelNet> member(std::int64_t index) const;
  [[nodiscard]] const Scaling& scaling() const { return scaler_->scaling(); }
  [[nodiscard]] const KernelNetOptions& options() const { return options_; }

 private:
  KernelNetOptions options_;
  std::shared_ptr<Scaler> scaler_;
  StackedLinearPtr from_node_, from_settings_, node_hidden_, node_out_, graph_hidden_, graph_out_;
  std::vector<std::shared_ptr<GraphLayer>> layers_;
  torch::Tensor from_timed_;  // K x 1 x heads: 1 where a head is relative to the roofline's time instead of the
                              // timer's; undefined: nowhere
};

}  // namespace forerun
