#include "training/gnn/gnn_rows.hpp"

#include "analysis/analyze.hpp"
#include "features/node_encoding.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

double metric_of(const Example& example, std::string_view name) {
  const auto found = example.metrics.find(name);
  return found == example.metrics.end() || !(found->second > 0) ? 0 : found->second;
}

GnnRow make_row(const Graph& graph, const Device& device, const Workload& workload) {
  GnnRow row;
  row.workload = workload;
  const std::vector<Kernel> kernels = list_kernels(graph, workload);
  const RooflineEstimate roofline = estimate_roofline(graph, kernels, workload, device);
  row.kernels = encode_kernels(graph, kernels, roofline, device, workload);
  row.roofline_latency_ms = roofline.latency_ms(workload.runtime);
  return row;
}

}  // namespace

Result<GnnRows> make_gnn_rows(const Dataset& dataset, const Catalogue& catalogue) {
  GnnRows out;
  for (std::size_t i = 0; i < dataset.examples.size(); ++i) {
    const Example& example = dataset.examples[i];
    FORERUN_TRY(const Device device, catalogue.find(example.device));
    const auto graph = analyze(*example.net, example.workload.binding);
    if (!graph) {
      ++out.skipped;
      continue;
    }
    for (const Runtime runtime : {Runtime::Eager, Runtime::Graph}) {
      Workload workload = example.workload;
      workload.runtime = runtime;
      const std::string_view name = runtime == Runtime::Graph ? kLatencyGraph : workload.training ? kStep : kLatencyEager;
      const double latency_ms = metric_of(example, name);
      if (latency_ms <= 0 || (workload.training && runtime == Runtime::Graph)) continue;
      GnnRow row = make_row(*graph, device, workload);
      if (row.kernels.graph.nodes == 0) continue;
      row.example = i;
      row.latency_name = name;
      row.targets.latency_ms = latency_ms;
      if (runtime == Runtime::Eager) {
        row.targets.memory_mb = metric_of(example, kMemory);
        row.targets.power_w = metric_of(example, kPower);
        row.targets.energy_j = metric_of(example, kEnergy);
      }
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

Result<PublishedTensors> encode_published(const Example& example) {
  FORERUN_TRY(const Graph graph, analyze(*example.net, example.workload.binding));
  return PublishedTensors{encode_inference_nodes(graph, example.workload, EdgeKind::Chain),
                          encode_inference_nodes(graph, example.workload, EdgeKind::DataFlow),
                          encode_training_nodes(graph, example.workload, EdgeKind::DataFlow)};
}

}  // namespace forerun
