// Several devices: which system, which layout, how the batch is dealt out. Everything else is estimated from this.
#include <fmt/format.h>

#include <algorithm>

#include "service/estimate.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMicroBatchesPerStage = 4;  // where the question names none
constexpr std::int64_t kMostMicroBatches = 1 << 20;

// A written-out network's heads and layers, from one layer of it.
struct NetworkSize {
  std::int64_t heads = 0, layers = 0, experts = 0;
};
NetworkSize size_of(const Network& network, const Request& request) {
  Binding binding = request.binding;
  binding.batch = 1;
  binding.shard = {};
  if (!binding.phase || *binding.phase != Phase::Decode) binding.seq = 1;
  binding.shard.layers = 1;
  Result<Graph> graph = network.expand(binding);
  if (!graph) {
    binding.shard.layers = 0;
    graph = network.expand(binding);
  }
  if (!graph) return {};
  if (!graph->transformer) return {};
  return {graph->transformer->heads, graph->transformer->layers, graph->transformer->experts};
}

Status place_devices(const ParallelRequest& asked, const Device& device, Cluster& cluster, std::int64_t& devices) {
  if (asked.system.empty()) {
    cluster.system = assumed_system(device);
    cluster.is_assumed = true;
  } else {
    FORERUN_TRY(cluster.system, find_system(asked.system));
    if (cluster.system.device != device.id) {
      return bad_input(fmt::format("--system {}: holds {}, not {}", asked.system, cluster.system.device, device.id));
    }
  }
  const std::int64_t product = asked.degrees.devices();
  devices = asked.gpus.value_or(asked.nodes ? *asked.nodes * cluster.system.gpus_per_node : product);
  if (!asked.gpus && !asked.nodes && product == 1 && !asked.system.empty()) devices = cluster.system.gpus_per_node;
  std::int64_t& each = cluster.system.gpus_per_node;
  if (asked.nodes) {
    cluster.nodes = *asked.nodes;
    if (devices % cluster.nodes != 0 || devices / cluster.nodes > each) {
      return bad_input(fmt::format("--gpus {} on --nodes {}: a node holds {} devices", devices, cluster.nodes, each));
    }
    if (devices / cluster.nodes < each) {
      // A device sends through the cards beside it.
      const std::int64_t used = devices / cluster.nodes;
      cluster.system.nics_per_node = std::max<std::int64_t>(1, cluster.system.nics_per_node * used / each);
      each = used;
      cluster.system.link_domain = std::min(cluster.system.link_domain, each);
    }
  } else {
    cluster.nodes = (devices + each - 1) / each;
    if (cluster.nodes == 1) each = std::max<std::int64_t>(1, devices);
  }
  if (cluster.nodes > cluster.system.most_nodes) {
    return bad_input(fmt::format("{} nodes of {}: the largest installation described has {}", cluster.nodes,
                                 cluster.is_assumed ? device.id : asked.system, cluster.system.most_nodes));
  }
  const std::string fabric = asked.fabric.empty() ? cluster.system.fabric : asked.fabric;
  if (!fabric.empty()) {
    FORERUN_TRY(cluster.fabric, find_fabric(fabric));
  }
  return ok();
}

// The batch of one replica's pass, and how many such passes a step has.
Status deal_out_batch(Request& shared) {
  ParallelRequest& p = shared.parallel;
  if (p.global_batch && shared.binding.batch && *p.global_batch != *shared.binding.batch)
    return bad_input("--batch and --global-batch: name one of them");
  if (p.global_batch && !shared.train)
    return bad_input("--global-batch: of a training step; add --train, or use --batch");
  const std::int64_t copies = p.degrees.data;
  const std::optional<std::int64_t> whole = p.global_batch ? p.global_batch : shared.binding.batch;
  const std::int64_t replica = largest_share(whole.value_or(p.micro_batch.value_or(1) * copies), copies);
  std::int64_t micro = p.micro_batch.value_or(replica);
  if (!p.micro_batch && p.degrees.pipeline > 1 && shared.train)
    micro = largest_share(replica, kMicroBatchesPerStage * p.degrees.pipeline);
  micro = std::min(micro, replica);
  p.step.micro_batch = micro;
  p.step.micro_batches = largest_share(replica, micro);
  if (p.step.micro_batches > kMostMicroBatches) return bad_input("more than a million micro-batches in a step");
  shared.whole_batch = whole.value_or(p.micro_batch.value_or(1) * copies);
  shared.binding.batch = micro;
  return ok();
}

Status check_step(const Request& request) {
  const StepOptions& step = request.parallel.step;
  const bool trains_only = step.zero > 0 || step.checkpointing != Checkpointing::None || step.offload_optimizer ||
                           step.lora_rank > 0 || request.parallel.tokens || request.parallel.input_samples_per_s;
  if (trains_only && !request.train) {
    return bad_input(
        "--zero, --checkpointing, --offload-optimizer, --lora-rank, --tokens and --samples-per-s-input are of training "
        "steps; add --train");
  }
  return ok();
}

}  // namespace

Result<PlaceOfRequest> place_request(const Request& request, const Network& network, const Device& device) {
  PlaceOfRequest place;
  FORERUN_CHECK(place_devices(request.parallel, device, place.cluster, place.devices));
  const NetworkSize size = network.is_fixed_graph() ? NetworkSize{} : size_of(network, request);
  place.heads = size.heads;
  place.layers = size.layers;
  place.experts = size.experts;
  return place;
}

Result<Request> share_out(const Request& request, const Network& network, const Device& device) {
  FORERUN_CHECK(check_step(request));
  Request shared = request;
  ParallelRequest& p = shared.parallel;
  if (!p.is_asked() && !p.global_batch && !p.micro_batch && p.step.zero == 0 && p.step.lora_rank == 0 &&
      p.step.checkpointing == Checkpointing::None && !p.step.offload_optimizer && !p.input_samples_per_s && !p.tokens)
    return shared;
  FORERUN_TRY(PlaceOfRequest place, place_request(request, network, device));
  FORERUN_TRY(p.degrees, choose_layout(place.devices, p.degrees, place.heads, place.cluster.system.link_domain));
  FORERUN_CHECK(check_layout(!network.is_fixed_graph(), place.layers, p.degrees));
  FORERUN_CHECK(deal_out_batch(shared));
  if (p.step.checkpointing != Checkpointing::None && network.is_fixed_graph())
    return bad_input("--checkpointing: needs a language model's configuration, whose layers are known");
  p.layers = place.layers;
  // A training step keeps no cache; an encoder or a file has one phase anyway.
  if (request.train && !network.is_fixed_graph() && !shared.binding.phase) shared.binding.phase = Phase::Forward;
  if (p.degrees.devices() > 1 || p.step.micro_batches > 1 || p.step.checkpointing != Checkpointing::None ||
      p.step.lora_rank > 0 || p.step.offload_optimizer || p.input_samples_per_s)
    p.cluster = std::move(place.cluster);
  return shared;
}

}  // namespace forerun
