// Feed-forward blocks: plain and gated MLPs, and mixtures of experts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

struct MlpSpec {
  std::int64_t intermediate = 1;
  bool gated = true;
  bool fused = false;  // gate and up in one projection, named by `up`
  bool bias = false;
  std::string activation = "silu";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
};

struct MoeSpec {
  std::int64_t experts = 0;  // 0: no mixture
  std::int64_t top_k = 1;
  std::int64_t intermediate = 1;
  std::int64_t latent = 0;  // narrower width the experts work at, between two projections; 0 = the hidden size
  bool gated = true;
  bool expert_bias = false;
  bool router_bias = false;
  bool sigmoid_scores = false;
  bool score_correction = false;         // a bias on the scores: a parameter of one per expert
  bool correction_is_parameter = false;  // … or a buffer
  std::string activation = "silu";
  std::int64_t shared_intermediate = 0;  // of the shared expert; 0 = none
  bool shared_gate = false;              // a sigmoid gate on the shared expert
  bool bias = false;                     // of the shared expert and the latent projections
  std::string_view router = "gate", experts_name = "experts", shared_name = "shared_experts",
                   shared_gate_name = "shared_expert_gate";
};

// Names are relative to the builder's scope, e.g. "model.layers.3.mlp.".
ValueId mlp(GraphBuilder& b, ValueId x, const MlpSpec& spec);
ValueId mixture(GraphBuilder& b, ValueId x, const MoeSpec& spec);
// Routed experts alone, weights already chosen; adds the weights and the MoeExperts node.
ValueId routed_experts(GraphBuilder& b, ValueId x, const MoeSpec& spec, ValueId routing_weights);

// Distinct experts that `tokens` tokens touch when each picks top_k of them at random: E (1 - (1 - k/E)^T).
double expected_experts(std::int64_t experts, std::int64_t top_k, std::int64_t tokens);

}  // namespace forerun
