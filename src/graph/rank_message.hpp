// Messages between the ranks that run a network together.
#pragma once

#include <cstdint>

namespace forerun {

enum class Collective : std::uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Send, Count };

// Ranks that hold shares of the same layers, experts, sequence, layers' list or batch.
enum class ShardAxis : std::uint8_t { Tensor, Expert, Context, Pipeline, Data, Count };

// One message of a pass, `count` times. `bytes` is the whole tensor: what every rank holds before an all-reduce or a
// reduce-scatter and after an all-gather, what one rank sends to all others, itself included, in an all-to-all.
struct RankMessage {
  Collective collective = Collective::AllReduce;
  ShardAxis axis = ShardAxis::Tensor;
  double bytes = 0;
  double count = 1;
};

}  // namespace forerun
