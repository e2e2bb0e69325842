// What one rank of a stage does, summed over its kernels.
#include <algorithm>
#include <string_view>

#include "parallel/step.hpp"

namespace forerun {
namespace {

bool is_in_layers(const Graph& graph, const Kernel& kernel) {
  const auto& starts = graph.layer_starts;
  return kernel.block == 0 && starts.size() > 1 && kernel.node >= starts.front() && kernel.node < starts.back();
}

bool is_of_scores(const Kernel& kernel) {
  return kernel.kernel_class == KernelClass::Softmax || kernel.kernel_class == KernelClass::Attention ||
         kernel.kernel_class == KernelClass::BatchedMatMul;
}

void add_kernel(const Graph& graph, const Kernel& kernel, double us, StageWork& work) {
  switch (kernel.stage) {
    case Stage::Forward:
      work.forward_us += us;
      work.macs += kernel.macs * kernel.runs;
      if (is_in_layers(graph, kernel)) work.layers_forward_us += us;
      if (is_of_scores(kernel)) work.scores_forward_us += us;
      break;
    case Stage::Backward:
      work.backward_us += us;
      if (is_of_scores(kernel)) work.scores_backward_us += us;
      if (std::string_view(kernel.label) == "weight_gradient") work.weight_gradient_us += us;
      break;
    case Stage::Update: work.update_us += us; break;
  }
}

StageWork start(const Graph& graph) {
  StageWork work;
  work.messages = graph.messages;
  work.layers = std::max<double>(0, double(graph.layer_starts.size()) - 1);
  for (const ValueId out : graph.main().outputs) {
    const Value& value = graph.values[std::size_t(out)];
    if (value.dims.size() == 3) work.boundary_bytes = double(bytes_of(value));
  }
  for (const Value& value : graph.values) {
    if (is_weight(value)) work.parameters += double(elements_of(value));
  }
  return work;
}

}  // namespace

StageWork sum_stage(const Graph& graph, const std::vector<Kernel>& kernels, const std::vector<KernelTerms>& terms) {
  StageWork work = start(graph);
  for (std::size_t i = 0; i < std::min(kernels.size(), terms.size()); ++i)
    add_kernel(graph, kernels[i], terms[i].total(), work);
  return work;
}

StageWork sum_stage(const Graph& graph, const std::vector<Kernel>& kernels, const RooflineEstimate& roofline,
                    double latency_us) {
  StageWork work = start(graph);
  double total = 0;
  for (const KernelTime& time : roofline.kernels) total += time.time_us;
  const double factor = total > 0 ? latency_us / total : 1;  // the host's part, spread evenly
  for (std::size_t i = 0; i < std::min(kernels.size(), roofline.kernels.size()); ++i)
    add_kernel(graph, kernels[i], roofline.kernels[i].time_us * factor, work);
  return work;
}

double adapter_parameters(const Graph& graph, std::int64_t rank) {
  double sum = 0;
  for (const Node& node : graph.main().nodes) {
    if (node.kind != OpKind::MatMul || node.inputs.size() < 2 || node.inputs[1] == kNoValue) continue;
    const Value& weight = graph.values[std::size_t(node.inputs[1])];
    if (is_weight(weight) && weight.dims.size() == 2) sum += double(rank) * double(weight.dims[0] + weight.dims[1]);
  }
  return sum;
}

}  // namespace forerun
