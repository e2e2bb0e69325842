// A workload: how a network is run. Plain records with their names; no behaviour.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/transformer_facts.hpp"

namespace forerun {

enum class Precision : std::uint8_t { IeeeFp32, Fp32, Tf32, Fp16, Bf16, AmpBf16, Fp8, Int8, Int4, Fp4, AmpFp16, Count };
// Compiled: torch.compile's kernels, replayed as one graph. Engine: a serving engine's kernels, likewise.
enum class Runtime : std::uint8_t { Eager, Graph, Compiled, Engine, Count };
enum class Optimizer : std::uint8_t { None, Sgd, Adam, AdamW, Count };

[[nodiscard]] std::string_view name_of(Precision precision);
[[nodiscard]] std::string_view name_of(Runtime runtime);
[[nodiscard]] std::string_view name_of(Phase phase);
[[nodiscard]] std::string_view name_of(Optimizer optimizer);
// Weights in fp32, products in 16 bits.
[[nodiscard]] constexpr bool is_autocast(Precision precision) {
  return precision == Precision::AmpBf16 || precision == Precision::AmpFp16;
}
// Parse a name as users write it; nullopt when there is none.
[[nodiscard]] std::optional<Precision> parse_precision(std::string_view name);
[[nodiscard]] std::optional<Runtime> parse_runtime(std::string_view name);
[[nodiscard]] std::optional<Phase> parse_phase(std::string_view name);
[[nodiscard]] std::optional<Optimizer> parse_optimizer(std::string_view name);

// The share of a network that one rank runs. Degrees of 1 and all layers: the whole network.
struct Shard {
  std::int64_t tensor = 1;       // ranks that hold shares of the same layers
  std::int64_t expert = 1;       // ranks that hold different experts
  std::int64_t context = 1;      // ranks that hold different parts of each sequence
  std::int64_t first_layer = 0;  // of the rank's pipeline stage
  std::int64_t layers = 0;       // of the stage; 0: all of them

  auto operator<=>(const Shard&) const = default;
};

// How free dimensions are bound and a configuration is expanded.
struct Binding {
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> seq;           // tokens in (forward, prefill) or tokens already in the cache (decode)
  std::map<std::string, std::int64_t> dims;  // --dim NAME=N
  std::map<std::string, std::vector<std::int64_t>> inputs;  // --input NAME=SHAPE; -1: bound like any free dimension
  std::optional<Phase> phase;                               // absent: the network's usual phase
  Precision precision = Precision::Fp32;  // of weights and activations a configuration is expanded with
  bool last_logits_only = false;          // a language model's logits for the last position alone, not for every one
  bool training = false;
  Shard shard;  // what to write out, for networks that are written out from a configuration

  auto operator<=>(const Binding&) const = default;
};

struct Workload {
  Binding binding;
  Precision precision = Precision::Fp32;
  Runtime runtime = Runtime::Eager;
  bool training = false;
  Optimizer optimizer = Optimizer::Sgd;  // meaningful when training
  bool fused_engine =
      false;  // run by a serving engine: norms and rotations are single kernels, caches are written in place
  bool autocast = false;  // weights stay in fp32 and are cast to `precision` in every pass; amp_bf16 always does so
};

}  // namespace forerun
