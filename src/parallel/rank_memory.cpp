#include "parallel/rank_memory.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/kernel_builder.hpp"

namespace forerun {
namespace {

constexpr double kMb = 1048576.0;
constexpr double kBucketElements = 5e8;  // DeepSpeed's default for reduce_bucket_size
constexpr double kPrefetched = 2;        // units whose weights are gathered at once: the one that runs and the next

// Micro-batches whose activations a stage holds at once.
double in_flight(const RankMemoryInput& in) {
  const auto micro_batches = double(in.options.micro_batches);
  if (in.layout.pipeline <= 1) return 1;
  if (in.options.schedule == Schedule::GPipe) return micro_batches;
  return std::min(micro_batches, double(in.layout.pipeline - in.stage));
}

// Activations that wait for the backward pass, and what runs beside them at the highest moment.
double training_activations(const RankMemoryInput& in) {
  const MemoryFacts& f = in.facts;
  const double transient = std::max(0.0, f.activation_peak_bytes - f.saved_bytes);
  const double outside = std::max(0.0, f.saved_bytes - f.layers_saved_bytes);
  double kept = f.saved_bytes, running = transient;
  if (in.options.checkpointing == Checkpointing::Selective) {
    kept = f.saved_bytes - f.scores_saved_bytes;
    running = std::max(transient, f.scores_saved_bytes / std::max<double>(1, double(f.layers)));
  } else if (in.options.checkpointing == Checkpointing::Full) {
    kept = outside + double(f.layers) * f.layer_input_bytes;
    // The last layer's gradients and the recomputed activations of one layer are not there at the same time.
    running = std::max(transient, f.largest_layer_saved_bytes + 2 * f.layer_input_bytes);
  }
  return kept * in_flight(in) + running;
}

// Buckets of gradients, weights gathered from other ranks, and their gradients before they are divided.
double buffer_bytes(const RankMemoryInput& in, const ParameterBytes& each, double trained) {
  double bytes = in.message_bytes;
  if (!in.workload.training) return bytes;
  const double replicas = double(in.layout.replicas());
  if (replicas <= 1) return bytes;
  const MemoryFacts& f = in.facts;
  if (in.options.zero == 0) return bytes + trained * each.gradient;  // DistributedDataParallel's buckets
  if (in.options.zero < 3) return bytes + std::min(trained, kBucketElements) * each.gradient;
  const double unit = std::max({f.largest_layer_parameters, f.parameters / std::max(1.0, double(f.layers) + 1)});
  const double root = std::max(0.0, f.parameters - double(f.layers) * f.largest_layer_parameters);
  const double gathered = f.layers > 0 ? kPrefetched * unit + root : f.parameters;
  return bytes + gathered * each.compute + (in.options.lora_rank > 0 ? 0 : std::max(unit, root) * each.gradient);
}

}  // namespace

ParameterBytes parameter_bytes(const Workload& workload) {
  ParameterBytes each;
  const bool half = workload.precision == Precision::Bf16 || workload.precision == Precision::Fp16 ||
                    workload.precision == Precision::Fp8;
  each.compute = is_autocast(workload.precision) || half ? 2 : 4;
  each.weight = each.gradient = half ? 2 : 4;
  const double states = workload.optimizer == Optimizer::Sgd ? 4 : workload.optimizer == Optimizer::None ? 0 : 8;
  each.optimizer = states + (half && workload.optimizer != Optimizer::None ? 4 : 0);  // master weights
  return each;
}

RankMemory rank_memory(const RankMemoryInput& in) {
  const MemoryFacts& f = in.facts;
  RankMemory memory;
  const auto put = [&](MemoryPart part, double bytes) { memory.at(part) = bytes / kMb; };
  const ParameterBytes each = parameter_bytes(in.workload);
  if (!in.workload.training) {
    put(MemoryPart::Weights, f.weight_bytes);
    put(MemoryPart::Cache, in.estimate.cache_mb * kMb);
    put(MemoryPart::Activations, std::max(0.0, f.peak_bytes - in.estimate.cache_mb * kMb));
  } else {
    const double replicas = double(in.layout.replicas());
    // Experts are held by fewer ranks than the rest.
    const double expert_replicas = std::max(1.0, replicas / double(in.layout.expert));
    const auto divided = [&](bool is_divided) {
      if (!is_divided) return f.parameters;
      return (f.parameters - f.expert_parameters) / replicas + f.expert_parameters / expert_replicas;
    };
    const bool lora = in.options.lora_rank > 0;
    const double adapters = in.adapter_parameters;
    const auto of_trained = [&](bool is_divided) {
      if (lora) return is_divided ? adapters / replicas : adapters;
      return divided(is_divided);
    };
    // Frozen weights of QLoRA and the like are stored as the graph says.
    const double weight = lora ? f.weight_bytes / std::max(1.0, f.parameters) : each.weight;
    put(MemoryPart::Weights,
        divided(in.options.zero >= 3) * weight + (lora ? of_trained(in.options.zero >= 3) * each.weight : 0));
    put(MemoryPart::Gradients, of_trained(in.options.zero >= 2) * each.gradient);
    const double state = of_trained(in.options.zero >= 1) * each.optimizer;
    put(MemoryPart::Optimizer, in.options.offload_optimizer ? 0 : state);
    memory.host_mb = in.options.offload_optimizer ? state / kMb : 0;
    double activations = training_activations(in);
    if (is_autocast(in.workload.precision) && in.options.zero < 3)
      activations += f.parameters * 2;  // cached casts of the weights
    put(MemoryPart::Activations, activations);
    put(MemoryPart::Buffers, buffer_bytes(in, each, lora ? adapters : f.parameters));
  }
  if (!in.workload.training) put(MemoryPart::Buffers, buffer_bytes(in, each, 0));
  put(MemoryPart::Other, in.estimate.workspace_mb * kMb);
  for (const double part : memory.parts_mb) memory.total_mb += part;
  // The allocator's own overhead and the context, as on one device.
  const double context_mb =
      in.estimate.device_total_mb - in.estimate.total_mb * 1.04 - 2 * std::sqrt(in.estimate.total_mb);
  memory.device_total_mb = memory.total_mb * 1.04 + 2 * std::sqrt(memory.total_mb) + std::max(0.0, context_mb);
  return memory;
}

}  // namespace forerun
