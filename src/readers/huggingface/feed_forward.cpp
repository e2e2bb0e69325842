#include "readers/huggingface/feed_forward.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "readers/huggingface/shard.hpp"

namespace forerun {

ValueId mlp(GraphBuilder& b, ValueId x, const MlpSpec& whole) {
  const MlpSpec spec = share_of(b, whole);
  const Divided divided(b);
  const std::int64_t hidden = b.last_dim(x);
  ValueId inner = kNoValue;
  if (spec.gated && spec.fused) {
    const auto parts =
        b.split(b.linear(x, spec.up, spec.intermediate * 2, spec.bias), {spec.intermediate, spec.intermediate});
    inner = b.mul(parts[1], b.activation(parts[0], spec.activation));
  } else if (spec.gated) {
    const ValueId gate = b.activation(b.linear(x, spec.gate, spec.intermediate, spec.bias), spec.activation);
    inner = b.mul(gate, b.linear(x, spec.up, spec.intermediate, spec.bias));
  } else {
    inner = b.activation(b.linear(x, spec.up, spec.intermediate, spec.bias), spec.activation);
  }
  const ValueId result = b.linear(inner, spec.down, hidden, spec.bias);
  note_partial_sum(b, result);
  return result;
}

double expected_experts(std::int64_t experts, std::int64_t top_k, std::int64_t tokens) {
  const double share = double(std::min(top_k, experts)) / double(experts);
  return double(experts) * (1.0 - std::pow(1.0 - share, double(tokens)));
}

ValueId routed_experts(GraphBuilder& b, ValueId x, const MoeSpec& whole, ValueId routing_weights) {
  MoeSpec spec = whole;
  const std::int64_t ranks = b.run.shard.expert;
  spec.experts = share_of(b, whole.experts, ranks, "expert-parallel", "experts");
  spec.intermediate = width_of_rank(b, whole.intermediate);
  spec.top_k = std::min(whole.top_k, whole.experts);
  b.has_experts = true;
  const Divided divided(b);
  const std::int64_t width = b.last_dim(x);
  const std::int64_t tokens = checked_mul(b.dims(x)[0], b.dims(x)[1]);
  const std::string name(spec.experts_name);
  std::vector<ValueId> inputs = {
      x,
      b.weight(name + (spec.gated ? ".gate_up_proj" : ".up_proj"),
               {spec.experts, width, spec.intermediate * (spec.gated ? 2 : 1)}, b.run.experts),
      b.weight(name + ".down_proj", {spec.experts, spec.intermediate, width}, b.run.experts), routing_weights};
  if (spec.expert_bias) {
    inputs.push_back(
        b.parameter(name + ".gate_up_proj_bias", {spec.experts, spec.intermediate * (spec.gated ? 2 : 1)}));
    inputs.push_back(b.parameter(name + ".down_proj_bias", {spec.experts, width}));
  }
  // With the experts spread over ranks, each rank's tokens go to all of them and come back: as many rows as without.
  const double touched = expected_experts(whole.experts, spec.top_k, checked_mul(tokens, ranks)) / double(ranks);
  const ValueId result = b.op(OpKind::MoeExperts, std::move(inputs), b.dims(x),
                              {{"num_experts", spec.experts},
                               {"top_k", spec.top_k},
                               {"intermediate", spec.intermediate},
                               {"gated", std::int64_t{spec.gated}},
                               {"experts_touched", touched}});
  if (ranks > 1) {
    const double routed = double(bytes_of(b.graph.values[std::size_t(result)])) * double(spec.top_k);
    for (int way = 0; way < 2; ++way) b.note_message(Collective::AllToAll, ShardAxis::Expert, routed);
  }
  note_partial_sum(b, result);
  return result;
}

ValueId mixture(GraphBuilder& b, ValueId x, const MoeSpec& spec) {
  const Dims shape = b.dims(x);
  const std::int64_t experts = spec.experts, top_k = std::min(spec.top_k, spec.experts);
  // Routers stay in floating point whatever the experts are stored in.
  Dims wide = shape;
  wide.back() = experts;
  const std::string router(spec.router);
  ValueId scores = b.op(OpKind::MatMul, {x, b.parameter(router + ".weight", {shape.back(), experts})}, wide);
  if (spec.router_bias) scores = b.add(scores, b.parameter(router + ".bias", {experts}));
  scores = spec.sigmoid_scores ? b.unary(OpKind::Sigmoid, scores) : b.softmax(scores, true);
  if (spec.score_correction) {
    const std::string bias = router + ".e_score_correction_bias";
    scores = b.add(scores, spec.correction_is_parameter ? b.parameter(bias, {experts})
                                                        : b.buffer(bias, DType::Float32, {experts}));
  }
  Dims chosen = shape;
  chosen.back() = top_k;
  const auto top = b.ops(OpKind::TopK, {scores, b.constant({top_k})},
                         {{b.run.activations, chosen}, {DType::Int64, chosen}}, {{"axis", std::int64_t{-1}}});
  const ValueId narrow = spec.latent > 0 ? b.linear(x, "fc1_latent_proj", spec.latent, spec.bias) : x;
  ValueId y = routed_experts(b, narrow, spec, top[0]);
  if (spec.latent > 0) y = b.linear(y, "fc2_latent_proj", shape.back(), spec.bias);
  if (spec.shared_intermediate > 0) {
    const std::string outer = b.scope;
    b.scope.append(spec.shared_name).append(".");
    ValueId shared = mlp(b, x,
                         {.intermediate = spec.shared_intermediate,
                          .gated = spec.gated,
                          .bias = spec.bias,
                          .activation = spec.activation});
    b.scope = outer;
    if (spec.shared_gate)
      shared = b.mul(shared, b.unary(OpKind::Sigmoid, b.linear(x, spec.shared_gate_name, 1, false)));
    y = b.add(y, shared);
  }
  return y;
}

}  // namespace forerun
