// What a graph that was written out from a configuration states: the transformer's sizes and the run it stands for.
#pragma once

#include <cstdint>

namespace forerun {

enum class Phase : std::uint8_t { Forward, Prefill, Decode, Count };

// 0 where the network has no such part: no vocabulary, no token types, no table of positions, no experts.
struct TransformerFacts {
  std::int64_t layers = 0;  // of encoder and decoder together
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t vocabulary = 0;
  std::int64_t type_vocabulary = 0;
  std::int64_t max_positions = 0;
  std::int64_t experts = 0;  // per layer that has them
};

// The run whose shapes the graph has.
struct WrittenRun {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;  // tokens in; in decode, tokens in the cache
  Phase phase = Phase::Forward;
};

}  // namespace forerun
