// Memory as PyTorch's allocator would hold it: weights, live activations, workspaces; for training gradients, optimiser
// state and the activations saved for the backward pass.
#include <algorithm>
#include <cmath>

#include "analysis/kernel_builder.hpp"
#include "devices/architecture.hpp"
#include "predictors/roofline/live_set.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

constexpr double kMb = 1048576.0;

// The context and loaded modules of a process that uses a GPU or accelerator.
double context_mb(const Device& device) { return device.kind == "cpu" ? 0 : architecture_of(device).context_mib; }

double weight_bytes(const Graph& graph, Precision precision, double& elements) {
  double bytes = 0;
  for (const Value& value : graph.values) {
    if (!is_stored(value) || value.form != ValueForm::Tensor) continue;
    const double count = double(elements_of(value));
    if (value.stored_bytes >= 0) {
      bytes += double(value.stored_bytes);
    } else if (value.dtype == DType::Float32 || value.dtype == DType::Float16 || value.dtype == DType::BFloat16) {
      double each = is_autocast(precision) ? 4 : activation_bytes(precision);
      if (value.dims.size() >= 2 && (precision == Precision::Int8 || precision == Precision::Fp8)) each = 1;
      if (value.dims.size() >= 2 && precision == Precision::Int4) each = 0.5 + 2.0 / 128;
      if (value.dims.size() >= 2 && precision == Precision::Fp4) each = 0.5 + 1.0 / 16;
      bytes += std::ceil(count * each / 512) * 512;
    } else {
      bytes += count * bits_of(value.dtype) / 8.0;
    }
    if (is_weight(value)) elements += count;
  }
  return bytes;
}

// What checkpointing leaves out and sharding gathers, layer by layer.
void count_layers(const Graph& graph, const LiveSet& activations, MemoryFacts& facts) {
  const std::vector<NodeId>& starts = graph.layer_starts;
  const Block& block = graph.main();
  std::vector<bool> counted(graph.values.size(), false);
  for (std::size_t layer = 0; layer + 1 < starts.size(); ++layer) {
    const NodeId first = starts[layer], last = std::min(starts[layer + 1], NodeId(block.nodes.size()));
    const double saved = activations.saved_between(first, last);
    facts.layers_saved_bytes += saved;
    facts.scores_saved_bytes += activations.saved_between(first, last, true);
    facts.largest_layer_saved_bytes = std::max(facts.largest_layer_saved_bytes, saved);
    double parameters = 0;
    for (NodeId id = first; id < last; ++id) {
      const Node& node = block.nodes[std::size_t(id)];
      for (const ValueId in : node.inputs) {
        if (in == kNoValue || counted[std::size_t(in)] || !is_weight(graph.values[std::size_t(in)])) continue;
        counted[std::size_t(in)] = true;
        const auto elements = double(elements_of(graph.values[std::size_t(in)]));
        parameters += elements;
        if (node.kind == OpKind::MoeExperts) facts.expert_parameters += elements;
      }
    }
    facts.largest_layer_parameters = std::max(facts.largest_layer_parameters, parameters);
    if (last > first && !block.nodes[std::size_t(last - 1)].outputs.empty()) {
      const ValueId out = block.nodes[std::size_t(last - 1)].outputs[0];
      if (out != kNoValue) facts.layer_input_bytes = double(bytes_of(graph.values[std::size_t(out)]));
    }
    ++facts.layers;
  }
}

}  // namespace

MemoryFacts count_memory(const Graph& graph, const std::vector<Kernel>& kernels, const Workload& workload) {
  MemoryFacts facts;
  facts.weight_bytes = weight_bytes(graph, workload.precision, facts.parameters);
  LiveSet activations(graph, workload);
  facts.peak_bytes = activations.peak();
  facts.saved_bytes = activations.saved();
  if (workload.training) {
    facts.activation_peak_bytes = activations.peak_without_gradients();
    count_layers(graph, activations, facts);
  }
  facts.has_products = std::any_of(kernels.begin(), kernels.end(), [](const Kernel& k) {
    return k.kernel_class == KernelClass::Linear || k.kernel_class == KernelClass::BatchedMatMul ||
           k.kernel_class == KernelClass::Experts;
  });
  return facts;
}

MemoryEstimate estimate_memory(const MemoryFacts& facts, const Workload& workload, const Device& device) {
  MemoryEstimate memory;
  memory.weights_mb = facts.weight_bytes / kMb;
  memory.workspace_mb = facts.has_products ? architecture_of(device).gemm_workspace_mib : 0;
  if (!workload.training) {
    memory.activations_mb = facts.peak_bytes / kMb;
    memory.total_mb = memory.weights_mb + memory.activations_mb + memory.workspace_mb;
  } else {
    const double parameters_mb = facts.parameters * 4 / kMb;
    memory.saved_mb = facts.saved_bytes / kMb;
    memory.activations_mb = facts.peak_bytes / kMb;
    memory.gradients_mb = parameters_mb;
    const double states = workload.optimizer == Optimizer::Sgd ? 1 : workload.optimizer == Optimizer::None ? 0 : 2;
    memory.optimizer_mb = states * parameters_mb;
    if (is_autocast(workload.precision))
      memory.activations_mb += facts.parameters * 2 / kMb;  // cached casts of the weights
    const double update =
        parameters_mb * (workload.optimizer == Optimizer::None || workload.optimizer == Optimizer::Sgd ? 1 : 2);
    memory.total_mb =
        memory.weights_mb + memory.optimizer_mb + memory.workspace_mb + std::max(memory.activations_mb, update);
  }
  memory.device_total_mb = memory.total_mb * 1.04 + 2 * std::sqrt(memory.total_mb) + context_mb(device);
  return memory;
}

}  // namespace forerun
