#include "parallel/step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/kernel_builder.hpp"

namespace forerun {
namespace {

constexpr double kMiB = 1048576.0;

// Messages are a layer's activations; gradients are exchanged in fp32.
double exchange_us(const Graph& graph, const Workload& workload, const ParallelStep& step, const Device& device) {
  const Parallelism& layout = step.layout;
  const WrittenRun run = graph.written_run.value_or(WrittenRun{});
  const TransformerFacts transformer = graph.transformer.value_or(TransformerFacts{});
  const double tokens = double(step.batch) * (run.phase == Phase::Decode ? 1.0 : double(run.sequence));
  const double message = tokens * double(transformer.hidden_size) * activation_bytes(workload.precision);
  double us = 0;
  if (layout.tensor > 1)
    us += 2 * double(transformer.layers) * all_reduce_us(device, layout.tensor, message, step.exchange);
  if (layout.pipeline > 1) us += double(layout.pipeline - 1) * send_us(device, message);
  if (layout.data > 1 && workload.training) us += all_reduce_us(device, layout.data, double(step.parameters) * 4);
  return us;
}

// Weights and KV caches are divided by tensor and pipeline parallelism; other memory is not.
void divide_memory(const Graph& graph, const Parallelism& layout, Estimate& memory) {
  double weights_mb = 0, cache_mb = 0;
  for (const Value& value : graph.values) {
    if (is_weight(value)) weights_mb += double(bytes_of(value)) / kMiB;
    if (value.role == ValueRole::Cache) cache_mb += double(bytes_of(value)) / kMiB;
  }
  const double divided = weights_mb + cache_mb;
  const double shared = divided / double(layout.tensor * layout.pipeline);
  const double total = memory.value;
  scale(memory, std::max(0.02, (total - std::min(total * 0.99, divided) + shared) / total));
}

}  // namespace

void spread_over_devices(const Graph& graph, const Workload& workload, const ParallelStep& step, const Device& device,
                         Estimates& e, std::vector<std::string>& warnings) {
  const double exchange_ms = exchange_us(graph, workload, step, device) / 1e3;
  const double devices_at_work = double(step.layout.devices()) / double(step.layout.pipeline);
  const double before_ms = e.at(Metric::Latency).value;
  const double longer = before_ms > 0 ? (before_ms + exchange_ms) / before_ms : 1;
  scale(e.at(Metric::Latency), longer);
  scale(e.at(Metric::Energy), longer * devices_at_work);
  scale(e.at(Metric::Power), devices_at_work);
  for (const Metric metric : {Metric::Memory, Metric::DeviceMemory}) divide_memory(graph, step.layout, e.at(metric));
  warnings.push_back(
      fmt::format("{} devices: memory is one device's, power and energy are all devices'; exchange takes {:.3g} ms",
                  step.layout.devices(), exchange_ms));
}

}  // namespace forerun
