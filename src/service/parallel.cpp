// Several devices working together: how the request is shared out, the exchange between them, their shares of memory.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/kernel_builder.hpp"
#include "predictors/roofline/parallel.hpp"
#include "service/estimate.hpp"

namespace forerun {

Result<Request> share_out(const Request& request, const Network& network) {
  Request shared = request;
  std::int64_t product = request.tensor_parallel * request.pipeline_parallel * request.data_parallel;
  if (request.gpus > 1 && product == 1) {
    (network.is_fixed_graph() ? shared.data_parallel : shared.tensor_parallel) = request.gpus;
    product = request.gpus;
  }
  if (request.gpus > 1 && product != request.gpus) {
    return bad_input(fmt::format("--gpus {}: tensor x pipeline x data parallelism is {}", request.gpus, product));
  }
  constexpr std::int64_t kMostDevices = 65536;
  if (product > kMostDevices) return bad_input("more than 65536 devices");
  if (shared.data_parallel > 1)
    shared.binding.batch = std::max<std::int64_t>(
        1, (request.binding.batch.value_or(1) + shared.data_parallel - 1) / shared.data_parallel);
  return shared;
}

Status spread_over_devices(const Plan& plan, const Request& request, const Device& device, Estimates& e,
                           std::vector<std::string>& warnings) {
  const Parallelism parallel{request.tensor_parallel, request.pipeline_parallel, request.data_parallel};
  const auto layers = graph_fact(*plan.graph, "layers");
  const auto hidden = graph_fact(*plan.graph, "hidden_size");
  if (!layers || !hidden) {
    if (parallel.tensor > 1 || parallel.pipeline > 1) {
      return bad_input(
          "--tensor-parallel and --pipeline-parallel need a language model's configuration; other networks take "
          "--data-parallel");
    }
  }
  const bool decode = Phase(graph_fact(*plan.graph, "run_phase").value_or(0)) == Phase::Decode;
  const double tokens =
      double(batch_of(plan)) * (decode ? 1.0 : double(graph_fact(*plan.graph, "run_sequence").value_or(1)));
  const double message = tokens * double(hidden.value_or(0)) * activation_bytes(plan.workload.precision);
  double exchange_us = 0;
  // A pass replayed as one graph is a serving engine's: its all-reduce is a kernel of the graph.
  const Exchange how = request.runtime == Runtime::Graph ? Exchange::Engine : Exchange::Nccl;
  if (parallel.tensor > 1) exchange_us += 2 * double(*layers) * all_reduce_us(device, parallel.tensor, message, how);
  if (parallel.pipeline > 1) exchange_us += double(parallel.pipeline - 1) * send_us(device, message);
  if (parallel.data > 1 && request.train)
    exchange_us += all_reduce_us(device, parallel.data, double(plan.totals->parameters) * 4);
  const double before = e["latency_ms"].value;
  scale(e["latency_ms"], (before + exchange_us / 1e3) / before);
  // Energy of all devices together; memory of one of them.
  scale(e["energy_j"], (before + exchange_us / 1e3) / before * double(parallel.devices()) / double(parallel.pipeline));
  scale(e["power_w"], double(parallel.devices()) / double(parallel.pipeline));
  double elements = 0;
  double cache_mb = 0;
  for (const Value& value : plan.graph->values) {
    if (is_weight(value)) elements += double(bytes_of(value)) / 1048576.0;
    if (value.role == ValueRole::Cache) cache_mb += double(bytes_of(value)) / 1048576.0;
  }
  const double divided = elements + cache_mb;
  const double shared = divided / double(parallel.tensor * parallel.pipeline);
  for (const char* metric : {"memory_mb", "device_memory_mb"}) {
    const double total = e[metric].value;
    scale(e[metric], std::max(0.02, (total - std::min(total * 0.99, divided) + shared) / total));
  }
  warnings.push_back(
      fmt::format("{} devices: memory is one device's, power and energy are all devices'; exchange takes {:.3g} ms",
                  parallel.devices(), exchange_us / 1e3));
  return ok();
}

}  // namespace forerun
