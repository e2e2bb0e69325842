#include "parallel/planner.hpp"

#include <algorithm>

namespace forerun {
namespace {

constexpr std::int64_t kMostMicroBatch = 256;
constexpr std::int64_t kLeastTokensOfRank = 2048;  // shorter parts of a sequence are not worth their messages
constexpr std::size_t kMostCandidates = 200'000;

std::vector<std::int64_t> divisors(std::int64_t number, std::int64_t most) {
  std::vector<std::int64_t> list;
  for (std::int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) list.push_back(d);
  }
  return list;
}

void add_steps(const PlanSpace& space, const Parallelism& degrees, std::vector<Candidate>& list) {
  const std::int64_t replica = space.batch / degrees.data;
  if (space.batch % degrees.data != 0) return;
  for (const std::int64_t micro : divisors(replica, kMostMicroBatch)) {
    if ((micro & (micro - 1)) != 0 && micro != replica) continue;
    Candidate candidate{degrees, {}};
    candidate.step.micro_batch = micro;
    candidate.step.micro_batches = replica / micro;
    if (!space.training) {
      if (candidate.step.micro_batches == 1 || degrees.pipeline > 1) list.push_back(candidate);
      continue;
    }
    // More stages than micro-batches: mostly bubble.
    if (degrees.pipeline > 1 && candidate.step.micro_batches < degrees.pipeline) continue;
    for (const int zero : {0, 1, 2, 3}) {
      if (zero > 0 && degrees.replicas() == 1) break;
      if (zero >= 2 && degrees.pipeline > 1) break;  // gradients would be scattered after every micro-batch
      for (const Checkpointing kept : {Checkpointing::None, Checkpointing::Selective, Checkpointing::Full}) {
        candidate.step.zero = zero;
        candidate.step.checkpointing = kept;
        list.push_back(candidate);
      }
    }
  }
}

StageWork scaled_stage(const StageWork& work, double factor) {
  StageWork s = work;
  for (double* part :
       {&s.forward_us, &s.backward_us, &s.update_us, &s.layers_forward_us, &s.scores_forward_us, &s.scores_backward_us,
        &s.weight_gradient_us, &s.macs, &s.parameters, &s.expert_parameters, &s.layers})
    *part *= factor;
  for (RankMessage& message : s.messages) message.count *= factor;
  return s;
}

void add_ends(StageWork& stage, const StageWork& ends, double share) {
  stage.forward_us += share * ends.forward_us;
  stage.backward_us += share * ends.backward_us;
  stage.update_us += share * ends.update_us;
  stage.weight_gradient_us += share * ends.weight_gradient_us;
  stage.macs += share * ends.macs;
  stage.parameters += share * ends.parameters;
}

MemoryFacts facts_of_stage(const RankCosts& costs, double layers_share, bool is_first, bool is_last) {
  MemoryFacts f = costs.memory;
  const double layers_parameters = costs.layers.parameters;
  const double ends = costs.ends.parameters * (is_first && is_last ? 1 : is_first || is_last ? 0.5 : 0);
  const double outside = std::max(0.0, f.saved_bytes - f.layers_saved_bytes);
  const double transient = std::max(0.0, f.activation_peak_bytes - f.saved_bytes);
  const double whole = f.parameters;
  f.parameters = layers_parameters * layers_share + ends;
  f.weight_bytes *= whole > 0 ? f.parameters / whole : 1;
  f.expert_parameters *= layers_share;
  f.layers_saved_bytes *= layers_share;
  f.scores_saved_bytes *= layers_share;
  f.layers = std::max<std::int64_t>(1, std::int64_t(double(f.layers) * layers_share + 0.5));
  f.saved_bytes = f.layers_saved_bytes + (is_last ? outside : 0);
  f.activation_peak_bytes = f.saved_bytes + (is_last ? transient : std::min(transient, 4 * f.layer_input_bytes));
  return f;
}

}  // namespace

std::vector<Candidate> list_candidates(const PlanSpace& space) {
  std::vector<Candidate> list;
  const bool divides = space.heads > 0;
  for (const std::int64_t tensor : divides ? divisors(space.heads, space.link_domain) : std::vector<std::int64_t>{1}) {
    if (space.devices % tensor != 0) continue;
    for (const std::int64_t pipeline : divisors(space.devices / tensor, divides ? space.layers : 1)) {
      for (std::int64_t context = 1; context <= space.devices / tensor / pipeline; context *= 2) {
        if (context > 1 && (!divides || space.sequence % context != 0 || space.sequence / context < kLeastTokensOfRank))
          break;
        if (space.devices / tensor / pipeline % context != 0) break;
        const std::int64_t data = space.devices / tensor / pipeline / context;
        for (const std::int64_t expert :
             space.experts > 0 ? divisors(space.experts, data) : std::vector<std::int64_t>{1}) {
          if (data % expert != 0) continue;
          add_steps(space, {.tensor = tensor, .pipeline = pipeline, .data = data, .context = context, .expert = expert},
                    list);
          if (list.size() > kMostCandidates) return list;
        }
      }
    }
  }
  return list;
}

RankCosts split_rank(const Graph& graph, const std::vector<Kernel>& kernels, const RooflineEstimate& roofline,
                     double latency_us, const MemoryFacts& memory, double power_w) {
  RankCosts costs;
  const StageWork all = sum_stage(graph, kernels, roofline, latency_us);
  std::vector<Kernel> inside;
  RankCosts split;
  const auto& starts = graph.layer_starts;
  const auto in_layers = [&](const Kernel& k) {
    return k.block == 0 && k.node >= 0 && starts.size() > 1 && k.node >= starts.front() && k.node < starts.back();
  };
  RooflineEstimate of_layers;
  double total = 0, layers_us = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    total += roofline.kernels[i].time_us;
    if (!in_layers(kernels[i])) continue;
    inside.push_back(kernels[i]);
    of_layers.kernels.push_back(roofline.kernels[i]);
    layers_us += roofline.kernels[i].time_us;
  }
  costs.layers = sum_stage(graph, inside, of_layers, total > 0 ? latency_us * layers_us / total : layers_us);
  std::vector<bool> counted(graph.values.size(), false);
  double parameters = 0;
  for (std::size_t i = 0; starts.size() > 1 && i < graph.main().nodes.size(); ++i) {
    if (NodeId(i) < starts.front() || NodeId(i) >= starts.back()) continue;
    for (const ValueId in : graph.main().nodes[i].inputs) {
      if (in == kNoValue || counted[std::size_t(in)] || !is_weight(graph.values[std::size_t(in)])) continue;
      counted[std::size_t(in)] = true;
      parameters += double(elements_of(graph.values[std::size_t(in)]));
    }
  }
  costs.ends = all;
  costs.ends.messages.clear();
  costs.ends.forward_us -= costs.layers.forward_us;
  costs.ends.backward_us -= costs.layers.backward_us;
  costs.ends.weight_gradient_us -= costs.layers.weight_gradient_us;
  costs.ends.macs -= costs.layers.macs;
  costs.ends.parameters = all.parameters - parameters;
  costs.layers.parameters = parameters;
  costs.layers.expert_parameters = memory.expert_parameters;
  const double share = all.parameters > 0 ? parameters / all.parameters : 1;
  costs.layers.update_us = all.update_us * share;
  costs.ends.update_us = all.update_us * (1 - share);
  costs.layers.boundary_bytes = memory.layer_input_bytes;
  costs.layers.power_w = costs.ends.power_w = power_w;
  costs.memory = memory;
  costs.estimate = roofline.memory;
  costs.adapters_per_rank = adapter_parameters(graph, 1);
  return costs;
}

PlannedStep plan_step(const Candidate& candidate, const PlannerInput& in) {
  const RankCosts& costs = in.costs;
  const Parallelism& layout = candidate.degrees;
  const auto stages = double(layout.pipeline);
  const double most_layers = double((std::int64_t(costs.layers.layers) + layout.pipeline - 1) / layout.pipeline);
  std::vector<StageWork> works;
  PlannedStep planned;
  const auto add_stage = [&](double layers, bool is_first, bool is_last, double alike) {
    const double share = costs.layers.layers > 0 ? layers / costs.layers.layers : 0;
    StageWork stage = scaled_stage(costs.layers, share);
    // Nearly all of what lies outside the layers is the head; the embedding has half of its weights.
    if (is_last) add_ends(stage, costs.ends, 1);
    stage.first_stage = is_first ? 0 : 1;
    stage.stages = alike;
    const MemoryFacts facts = facts_of_stage(costs, share, is_first, is_last);
    const RankMemory memory =
        rank_memory({facts, costs.estimate, in.workload, in.device, layout, candidate.step,
                     is_first  ? 0
                     : is_last ? layout.pipeline - 1
                               : 1,
                     costs.adapters_per_rank * double(candidate.step.lora_rank) * share, costs.layers.boundary_bytes});
    if (memory.device_total_mb > planned.memory.device_total_mb) planned.memory = memory;
    works.push_back(std::move(stage));
  };
  if (layout.pipeline <= 1) {
    add_stage(costs.layers.layers, true, true, 1);
  } else {
    add_stage(most_layers, true, false, 1);
    const double rest = costs.layers.layers - most_layers * (stages - 1);
    if (layout.pipeline > 2) add_stage(most_layers, false, false, stages - 2);
    add_stage(std::max(1.0, rest), false, true, 1);
  }
  planned.times = combine_stages({works, layout, candidate.step, in.workload, in.device, in.collectives, Exchange::Nccl,
                                  costs.adapters_per_rank * double(candidate.step.lora_rank), in.input_samples_per_s,
                                  in.factors, in.samples});
  planned.fits = planned.memory.device_total_mb <= in.device.memory_gib * 1024;
  return planned;
}

}  // namespace forerun
