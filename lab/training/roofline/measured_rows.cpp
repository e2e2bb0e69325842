#include "training/roofline/measured_rows.hpp"

#include <algorithm>
#include <filesystem>

#include "analysis/analyze.hpp"
#include "dataset/load_campaign.hpp"

namespace forerun {
namespace {

const Device* device_of(MeasuredRows& rows, const std::string& id, const Catalogue& catalogue) {
  if (const auto found = rows.devices.find(id); found != rows.devices.end()) return &found->second;
  auto device = catalogue.find(id);
  return device ? &rows.devices.emplace(id, std::move(*device)).first->second : nullptr;
}

Status load_networks(MeasuredRows& rows, const std::string& folder, const Catalogue& catalogue) {
  FORERUN_TRY(const Dataset data, load_measurements(folder));
  std::map<std::string, double> rows_of_network;
  for (const Example& example : data.examples) ++rows_of_network[example.campaign + example.network];
  for (const Example& example : data.examples) {
    Binding binding = example.workload.binding;
    binding.precision = example.workload.precision;
    auto graph = analyze(*example.net, binding);
    if (!graph) continue;
    NetworkRow row;
    row.device = device_of(rows, example.device, catalogue);
    if (row.device == nullptr) return not_found("no such device: " + example.device);
    row.graph = std::make_shared<Graph>(std::move(*graph));
    row.workload = example.workload;
    row.kernels = list_kernels(*row.graph, row.workload);
    row.domain = example.domain;
    row.family = example.family;
    row.id = example.campaign + "/" + example.row_id;
    row.weight = 1 / rows_of_network[example.campaign + example.network];
    const auto metric = [&](std::string_view name) {
      const auto found = example.metrics.find(name);
      return found == example.metrics.end() ? 0.0 : found->second;
    };
    row.graph_ms = metric(kLatencyGraph);
    row.eager_ms = metric(kLatencyEager);
    row.step_ms = metric(kStep);
    row.power_w = example.counter_beside() ? metric(kPower) : 0;
    row.memory_mb = metric(kMemory);
    row.device_memory_mb = metric(kDeviceMemory);
    row.energy_j = example.counter_beside() ? metric(kEnergy) : 0;
    rows.networks.push_back(std::move(row));
  }
  return ok();
}

}  // namespace

Status add_operators(MeasuredRows& rows, std::vector<OperatorExample> examples, const Catalogue& catalogue) {
  std::erase_if(examples, [](const OperatorExample& e) { return e.kernels.empty() || e.host_bound(); });
  std::map<std::pair<std::string, KernelClass>, double> counts;
  for (const OperatorExample& e : examples) ++counts[{e.device, e.kernels.front().kernel_class}];
  for (OperatorExample& e : examples) {
    const Device* device = device_of(rows, e.device, catalogue);
    if (device == nullptr) continue;
    const double weight = 1 / counts[{e.device, e.kernels.front().kernel_class}];
    rows.operators.push_back({std::move(e.kernels), device, e.latency_ms * 1e3, e.timing_us, weight, std::move(e.op),
                              std::move(e.source), e.workload.precision});
  }
  return ok();
}

Result<MeasuredRows> load_measured_rows(const MeasuredOptions& options, const Catalogue& catalogue) {
  MeasuredRows rows;
  FORERUN_CHECK(load_networks(rows, options.campaigns, catalogue));
  FORERUN_TRY(std::vector<OperatorExample> examples, load_operator_campaigns(options.campaigns));
  if (!options.public_data.empty() && std::filesystem::is_directory(options.public_data)) {
    FORERUN_TRY(std::vector<OperatorExample> more,
                load_public_operators(options.public_data, {.rows_per_device = options.public_rows, .engines = true}));
    // The fit is for what frameworks run: of the engines' tables only 16-bit kernels take part, none of TensorRT-LLM's.
    std::erase_if(more, [](const OperatorExample& e) {
      const Precision p = e.workload.precision;
      return e.engine == "trtllm" || (p != Precision::IeeeFp32 && p != Precision::Bf16 && p != Precision::Fp16);
    });
    examples.insert(examples.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  FORERUN_CHECK(add_operators(rows, std::move(examples), catalogue));
  return rows;
}

}  // namespace forerun
