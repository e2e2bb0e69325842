#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/compiled_kernels.hpp"
#include "features/value_hash.hpp"
#include "predictors/compiled/compiled_pass.hpp"

namespace forerun {
namespace {

constexpr std::uint32_t kVersion = 1;  // of the facts: raised when their meaning changes

float log_of(double value) { return float(std::log(std::max(value, 1e-9))); }

// Sums over one kernel list.
struct Sums {
  double analytic_us = 0, total_us = 0, launch_us = 0, compute_us = 0, memory_us = 0, kernels = 0, bytes = 0;
  double convolutions_us = 0, depthwise_us = 0, grouped_us = 0, products_us = 0, attention_us = 0, fused_us = 0,
         reductions_us = 0, weight_layout_us = 0, other_us = 0, channels_last = 0, planes_us = 0;
};

Sums sums_of(const PredictorInput& input, std::span<const double> learned_us) {
  Sums s;
  for (std::size_t i = 0; i < input.kernels.size(); ++i) {
    const Kernel& k = input.kernels[i];
    KernelTime time = input.roofline.kernels[i];
    s.analytic_us += time.time_us;
    if (!learned_us.empty()) time.time_us = learned_us[i] * k.runs;
    s.total_us += time.time_us;
    s.launch_us += std::min(time.launch_us, time.time_us);
    s.compute_us += std::min(time.compute_us, time.time_us);
    s.memory_us += std::min(time.memory_us, time.time_us);
    s.kernels += k.runs * k.launches;
    s.bytes += k.runs * (k.read_bytes + k.write_bytes);
    const std::string_view label = k.label;
    if (label == kChannelsLastConv) s.channels_last = 1;
    if (label == kWeightLayout) {
      s.weight_layout_us += time.time_us;
      continue;
    }
    switch (k.kernel_class) {
      case KernelClass::Conv:
      case KernelClass::ConvTranspose:
        (k.groups > 1 ? s.grouped_us : k.kernel_area == 1 ? s.planes_us : s.convolutions_us) += time.time_us;
        break;
      case KernelClass::DepthwiseConv: s.depthwise_us += time.time_us; break;
      case KernelClass::Linear:
      case KernelClass::BatchedMatMul: s.products_us += time.time_us; break;
      case KernelClass::Attention: s.attention_us += time.time_us; break;
      case KernelClass::LayerNorm:
      case KernelClass::Softmax:
      case KernelClass::Reduce:
      case KernelClass::Pool: s.reductions_us += time.time_us; break;
      case KernelClass::Elementwise:
      case KernelClass::Copy:
      case KernelClass::Embedding:
      case KernelClass::BatchNorm: s.fused_us += time.time_us; break;
      default: s.other_us += time.time_us; break;
    }
  }
  return s;
}

template <typename Put>
void visit_facts(const CompiledInput& input, Put put) {
  const Sums own = sums_of(input.compiled, input.compiled_us), eager = sums_of(input.replay, input.replay_us);
  const double total = std::max(1e-6, own.total_us);
  const Estimate* replay = input.answer.find(Metric::Latency);
  const double replay_us = replay != nullptr ? 1e3 * replay->value : eager.total_us;
  put("log_analytic_ratio", log_of(own.analytic_us / std::max(1e-6, eager.analytic_us)));
  put("log_ratio", log_of(own.total_us / std::max(1e-6, eager.total_us)));
  put("log_learned", log_of(own.total_us / std::max(1e-6, own.analytic_us)));
  put("log_replay_error", log_of(replay_us / std::max(1e-6, eager.total_us)));
  put("log_replay_us", log_of(replay_us));
  put("log_kernels", log_of(own.kernels));
  put("log_kernel_ratio", log_of(own.kernels / std::max(1.0, eager.kernels)));
  put("log_bytes_ratio", log_of(own.bytes / std::max(1.0, eager.bytes)));
  put("log_us_per_kernel", log_of(replay_us / std::max(1.0, eager.kernels)));
  put("log_bytes_per_kernel", log_of(own.bytes / std::max(1.0, own.kernels)));
  put("launch", float(own.launch_us / total));
  put("compute", float(own.compute_us / total));
  put("memory", float(own.memory_us / total));
  put("convolutions", float(own.convolutions_us / total));
  put("pointwise_convolutions", float(own.planes_us / total));
  put("depthwise", float(own.depthwise_us / total));
  put("grouped", float(own.grouped_us / total));
  put("products", float(own.products_us / total));
  put("attention", float(own.attention_us / total));
  put("fused", float(own.fused_us / total));
  put("reductions", float(own.reductions_us / total));
  put("weight_layout", float(own.weight_layout_us / total));
  put("eager_pointwise", float((eager.fused_us + eager.reductions_us) / std::max(1e-6, eager.total_us)));
  put("eager_convolutions", float((eager.convolutions_us + eager.planes_us + eager.grouped_us + eager.depthwise_us) /
                                  std::max(1e-6, eager.total_us)));
  put("channels_last", float(own.channels_last));
  const Precision precision = input.compiled.workload.precision;
  put("element_bytes", float(precision <= Precision::Tf32 ? 4 : 2));
  put("bf16", float(precision == Precision::Bf16));
  put("language", float(is_language(run_kind_of(input.compiled.graph, input.compiled.workload))));
}

}  // namespace

double compiled_base(const CompiledInput& input, Metric metric) {
  const Estimate* replay = input.answer.find(metric);
  if (replay == nullptr) return 0;
  const auto analytic = [metric](const RooflineEstimate& roofline) {
    return metric == Metric::Latency ? roofline.latency_graph_ms
           : metric == Metric::Power ? roofline.power_graph_w
                                     : roofline.memory.total_mb;
  };
  double before = analytic(input.replay.roofline), after = analytic(input.compiled.roofline);
  if (metric == Metric::Latency && !input.compiled_us.empty()) {
    before = sums_of(input.replay, input.replay_us).total_us;
    after = sums_of(input.compiled, input.compiled_us).total_us;
  }
  return before > 0 && after > 0 ? replay->value * after / before : replay->value;
}

const std::vector<std::string>& compiled_fact_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    const Graph graph;
    const Totals totals;
    const std::vector<Kernel> kernels;
    const Workload workload;
    const Device device;
    const RooflineEstimate roofline;
    const PredictorInput nothing{graph, totals, kernels, workload, device, roofline};
    visit_facts({nothing, nothing, {}}, [&](const char* name, float) { names.emplace_back(name); });
    return names;
  }();
  return kNames;
}

std::vector<float> compiled_facts(const CompiledInput& input) {
  std::vector<float> facts;
  visit_facts(input, [&](const char*, float value) { facts.push_back(value); });
  return facts;
}

const FeatureSchema& compiled_schema() {
  static const FeatureSchema kSchema = [] {
    ValueHash hash;
    for (const std::string& name : compiled_fact_names()) hash.add(name);
    return FeatureSchema{"compiled-passes", kVersion, hash.value()};
  }();
  return kSchema;
}

}  // namespace forerun
