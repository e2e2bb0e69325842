#include "training/gnn/gnn_rows.hpp"

#include <map>
#include <optional>

#include "analysis/analyze.hpp"
#include "base/on_cores.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

double metric_of(const Example& example, std::string_view name) {
  const auto found = example.metrics.find(name);
  return found == example.metrics.end() || !(found->second > 0) ? 0 : found->second;
}

GnnTargets answers_of(const RooflineEstimate& roofline) {
  return {roofline.latency_eager_ms,
          roofline.latency_graph_ms,
          roofline.memory.total_mb,
          roofline.power_eager_w,
          roofline.power_eager_w * roofline.latency_eager_ms / 1e3,
          roofline.power_graph_w,
          roofline.power_graph_w * roofline.latency_graph_ms / 1e3};
}

std::vector<double> run_us_of(const std::vector<Kernel>& kernels, const Device& device, const TreePredictor* trees) {
  return trees != nullptr ? trees->kernel_run_us(kernels, device) : std::vector<double>();
}

std::optional<GnnRow> make_row(const Example& example, const Device& device, const TreePredictor* trees) {
  const auto graph = analyze(*example.net, example.workload.binding);
  if (!graph) return std::nullopt;
  GnnRow row;
  row.domain = example.domain;
  row.workload = example.workload;
  row.device = device.id;
  const std::vector<Kernel> kernels = list_kernels(*graph, row.workload);
  if (kernels.empty()) return std::nullopt;
  RooflineEstimate roofline = estimate_roofline(*graph, kernels, row.workload, device);
  row.roofline = answers_of(roofline);
  roofline.host_ms *= example.host_time;  // the host of that campaign, as in the rows of the trees
  row.kernels = encode_kernels(*graph, sum_totals(*graph), kernels, roofline, device, row.workload,
                               run_us_of(kernels, device, trees));
  row.targets = {metric_of(example, row.workload.training ? kStep : kLatencyEager),
                 row.workload.training ? 0 : metric_of(example, kLatencyGraph),
                 metric_of(example, kMemory),
                 metric_of(example, kPower),
                 metric_of(example, kEnergy),
                 metric_of(example, kPowerGraph),
                 metric_of(example, kEnergyGraph)};
  row.host_weight = static_cast<float>(example.host_weight);
  row.counted = example.counted;
  return row;
}

}  // namespace

Result<GnnRows> make_gnn_rows(const Dataset& dataset, const Catalogue& catalogue, const TreePredictor* trees) {
  std::map<std::string, Device> devices;
  for (const Example& example : dataset.examples) {
    if (devices.contains(example.device)) continue;
    FORERUN_TRY(Device device, catalogue.find(example.device));
    devices.emplace(example.device, std::move(device));
  }
  std::vector<std::optional<GnnRow>> made(dataset.examples.size());
  on_cores(made.size(), [&](std::size_t i) {
    made[i] = make_row(dataset.examples[i], devices.at(dataset.examples[i].device), trees);
  });
  GnnRows out;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i]) {
      ++out.skipped;
      continue;
    }
    made[i]->example = i;
    out.rows.push_back(std::move(*made[i]));
  }
  return out;
}

std::vector<GnnRow> make_operator_gnn_rows(const std::vector<OperatorExample>& operators, const Catalogue& catalogue,
                                           const TreePredictor* trees) {
  Graph empty;
  empty.blocks.emplace_back();
  std::map<std::string, std::optional<Device>> devices;
  std::vector<GnnRow> rows;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OperatorExample& one = operators[i];
    const auto [found, is_new] = devices.try_emplace(one.device);
    if (is_new) {
      if (auto device = catalogue.find(one.device)) found->second = std::move(*device);
    }
    const double kernels_ms = one.latency_ms - one.timing_us / 1e3;
    if (!found->second || one.kernels.empty() || one.host_bound() || !(kernels_ms > 0)) continue;
    GnnRow row;
    row.example = i;
    row.alone = true;
    row.workload = one.workload;
    row.workload.runtime = Runtime::Eager;
    row.device = one.device;
    const RooflineEstimate roofline = estimate_roofline(empty, one.kernels, row.workload, *found->second);
    row.kernels = encode_kernels(empty, Totals{}, one.kernels, roofline, *found->second, row.workload,
                                 run_us_of(one.kernels, *found->second, trees));
    row.roofline = answers_of(roofline);
    (one.host_included ? row.targets.eager_ms : row.targets.graph_ms) = kernels_ms;
    rows.push_back(std::move(row));
  }
  return rows;
}

KernelTensors encode_unlabelled(const Graph& graph, const Workload& workload, const Device& device,
                                const TreePredictor* trees) {
  const std::vector<Kernel> kernels = list_kernels(graph, workload);
  return encode_kernels(graph, sum_totals(graph), kernels, estimate_roofline(graph, kernels, workload, device), device,
                        workload, run_us_of(kernels, device, trees));
}

}  // namespace forerun
