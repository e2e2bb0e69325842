// How a network is laid out on several devices: degrees of parallelism and what each rank keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

struct Parallelism {
  std::int64_t tensor = 1;    // devices that share each layer
  std::int64_t pipeline = 1;  // stages of consecutive layers
  std::int64_t data = 1;      // replicas that each process a share of the batch
  std::int64_t context = 1;   // devices that share each sequence
  std::int64_t expert = 1;    // of the replicas, how many hold different experts
  [[nodiscard]] std::int64_t devices() const { return tensor * pipeline * data * context; }
  // Ranks that hold the same dense weights: what ZeRO divides between them.
  [[nodiscard]] std::int64_t replicas() const { return data * context; }
  auto operator<=>(const Parallelism&) const = default;
};

enum class Checkpointing : std::uint8_t { None, Selective, Full, Count };
enum class Schedule : std::uint8_t { OneForwardOneBackward, GPipe, Count };
[[nodiscard]] std::string_view name_of(Checkpointing checkpointing);
[[nodiscard]] std::string_view name_of(Schedule schedule);
[[nodiscard]] std::optional<Checkpointing> parse_checkpointing(std::string_view name);
[[nodiscard]] std::optional<Schedule> parse_schedule(std::string_view name);

// How a training step is run on the layout.
struct StepOptions {
  int zero = 0;                    // stage of ZeRO: 1 optimiser, 2 and gradients, 3 and weights (FSDP) are divided
  std::int64_t micro_batch = 1;    // samples of one pass of one replica
  std::int64_t micro_batches = 1;  // passes of one replica in a step
  Checkpointing checkpointing = Checkpointing::None;
  Schedule schedule = Schedule::OneForwardOneBackward;
  bool offload_optimizer = false;  // its state lies in the host's memory
  std::int64_t lora_rank = 0;      // 0: all weights are trained
};

// The layout of a question. `gpus` alone: tensor parallelism as far as one link domain and `heads` (0: layers cannot be
// divided) allow, copies beyond. Errors: the degrees do not multiply to `gpus`, too many devices, experts that do not
// divide the copies.
Result<Parallelism> choose_layout(std::int64_t gpus, Parallelism asked, std::int64_t heads, std::int64_t link_domain);

// Whether the network can be laid out so: only written-out networks divide layers, and no stage is empty.
Status check_layout(bool divides_layers, std::int64_t layers, const Parallelism& layout);

// Samples of one replica; where the batch does not divide evenly, the largest share.
[[nodiscard]] std::int64_t largest_share(std::int64_t batch, std::int64_t copies);

// A stage of the pipeline; several may be alike.
struct StageShare {
  Shard shard;
  std::int64_t first_stage = 0, stages = 1;  // how many stages this stands for
};
// Layers are dealt out evenly, the first stages take what is left over. At most three kinds: first, inner, last.
[[nodiscard]] std::vector<StageShare> list_stages(const Parallelism& layout, std::int64_t layers);

}  // namespace forerun
