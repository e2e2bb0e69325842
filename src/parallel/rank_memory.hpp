// Memory of one rank by what it holds, from the memory facts of the rank's own graph.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "devices/device.hpp"
#include "parallel/layout.hpp"
#include "predictors/roofline/roofline.hpp"
#include "records/workload.hpp"

namespace forerun {

enum class MemoryPart : std::uint8_t { Weights, Gradients, Optimizer, Activations, Buffers, Cache, Other, Count };
inline constexpr std::array<std::string_view, std::size_t(MemoryPart::Count)> kMemoryPartNames = {
    "weights", "gradients", "optimizer", "activations", "buffers", "kv_cache", "other"};

struct RankMemory {
  std::array<double, std::size_t(MemoryPart::Count)> parts_mb{};  // buffers: buckets, gathered weights, messages
  double total_mb = 0;                                            // peak of the framework's allocator
  double device_total_mb = 0;                                     // what the process occupies
  double host_mb = 0;  // in the host's memory: optimiser state that was moved there
  [[nodiscard]] double at(MemoryPart part) const { return parts_mb[std::size_t(part)]; }
  double& at(MemoryPart part) { return parts_mb[std::size_t(part)]; }
};

// Bytes each parameter takes in a step: as stored, its gradient, optimiser state with fp32 master weights where the
// stored ones are narrower, and in the precision it is computed with.
struct ParameterBytes {
  double weight = 4, gradient = 4, optimizer = 8, compute = 4;
};
[[nodiscard]] ParameterBytes parameter_bytes(const Workload& workload);

struct RankMemoryInput {
  const MemoryFacts& facts;        // of the rank's graph, one micro-batch
  const MemoryEstimate& estimate;  // of the same, for the workspace and (without training) the activations
  const Workload& workload;
  const Device& device;
  const Parallelism& layout;
  const StepOptions& options;
  std::int64_t stage = 0;         // 0 holds the most micro-batches in flight
  double adapter_parameters = 0;  // of LoRA
  double message_bytes = 0;       // the largest message's buffer
};
[[nodiscard]] RankMemory rank_memory(const RankMemoryInput& input);

}  // namespace forerun
