#include "features/kernel_encoding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "features/feature_row.hpp"
#include "features/kernel_facts.hpp"
#include "features/schema_sample.hpp"
#include "features/table.hpp"
#include "features/value_hash.hpp"

namespace forerun {
namespace {

constexpr std::array<const char*, std::size_t(Math::Count)> kMathNames = {
    "fp64",       "fp32",        "tf32_tensor", "fp16_tensor", "bf16_tensor",
    "fp8_tensor", "int8_tensor", "int4_tensor", "fp16",        "bf16"};

// Operators whose kernels differ from others of their class.
// clang-format off
constexpr std::array kLabels = {
    "Add", "Mul", "Sub", "Div", "Relu", "Clip", "Sigmoid", "bias", "Concat", "Resize", "contiguous", "Pad", "Slice", "Gather", "MaxPool", "AveragePool",
    "GlobalAveragePool", "ReduceMean", "group_norm", "GroupNormalization", "RMSNormalization", "LayerNormalization", "Softmax", "gelu", "Gelu", "silu", "Erf",
    "RotaryEmbedding", "conv_input_gradient", "conv_weight_gradient", "input_gradient", "weight_gradient", "matmul_gradient", "gradient", "accumulate",
    "bias_gradient", "autocast", "attention_gradient", "batch_norm", "layer_norm", "gelu_gradient"};
// clang-format on

constexpr const char* kTimedColumn = "log_timed_over_roofline";  // filled once equal kernels are joined

std::size_t label_index(std::string_view label) {
  return static_cast<std::size_t>(std::find(kLabels.begin(), kLabels.end(), label) - kLabels.begin());
}

double peak_tflops_of(const Device& device, const char* key) {
  const auto found = device.peak_tflops.find(key);
  if (found != device.peak_tflops.end()) return found->second;
  const auto fp32 = device.peak_tflops.find("fp32");
  return fp32 == device.peak_tflops.end() ? 0 : fp32->second;
}

bool is_product(KernelClass kernel_class) {
  return kernel_class == KernelClass::Conv || kernel_class == KernelClass::ConvTranspose ||
         kernel_class == KernelClass::Linear || kernel_class == KernelClass::BatchedMatMul ||
         kernel_class == KernelClass::Experts || kernel_class == KernelClass::Attention;
}

// Tiles of a product over multiprocessors.
double waves_of(const Kernel& kernel, const Device& device, double side) {
  const double tiles = std::max(1.0, kernel.batch) * std::ceil(std::max(1.0, kernel.m) / side) *
                       std::ceil(std::max(1.0, kernel.n) / side);
  return tiles / std::max(1, device.sm_count);
}
// How full the last wave leaves the machine: 1 = every multiprocessor busy to the end.
double fill_of(double waves) { return waves / std::ceil(waves); }

void put_kernel(FeatureRow& row, const Kernel& kernel, const KernelTime& time, const Device& device,
                const Workload& workload) {
  row.one_hot("class", std::size_t(kernel.kernel_class), std::size_t(KernelClass::Count),
              [](std::size_t i) { return name_of(KernelClass(i)); });
  row.one_hot("stage", std::size_t(kernel.stage), 3, [](std::size_t i) {
    return std::array<std::string_view, 3>{"forward", "backward", "update"}[i];
  });
  row.one_hot("math", std::size_t(kernel.math), kMathNames.size(),
              [](std::size_t i) { return std::string_view(kMathNames[i]); });
  row.log("macs", kernel.macs);
  row.log("flops", kernel.flops);
  row.log("read_bytes", kernel.read_bytes);
  row.log("write_bytes", kernel.write_bytes);
  row.log("weight_bytes", kernel.weight_bytes);
  row.log("output_elements", kernel.output_elements);
  row.log("batch", kernel.batch);
  row.log("m", kernel.m);
  row.log("n", kernel.n);
  row.log("k", kernel.k);
  row.log("kernel_area", kernel.kernel_area);
  row.log("stride", kernel.stride);
  row.log("groups", kernel.groups);
  row.log("input_channels", kernel.input_channels);
  row.log("output_channels", kernel.output_channels);
  row.log("spatial", kernel.spatial);
  row.log("inner", kernel.inner);
  row.log("runs", kernel.runs);
  row.log("launches", kernel.launches);
  row.log("host_ops", kernel.host_ops);
  row.log("serial_steps", kernel.serial_steps);
  row.plain("causal", kernel.causal ? 1 : 0);
  row.plain("divides_m", divisibility(kernel.m));
  row.plain("divides_n", divisibility(kernel.n));
  row.plain("divides_k", divisibility(kernel.k));
  row.plain("divides_input_channels", divisibility(kernel.input_channels));
  row.plain("divides_output_channels", divisibility(kernel.output_channels));
  row.plain("divides_inner", divisibility(kernel.inner));
  const bool product = is_product(kernel.kernel_class);
  const double large = waves_of(kernel, device, 128), small = waves_of(kernel, device, 64);
  row.plain("wave_fill", product ? fill_of(large) : 0);
  row.plain("wave_fill_64", product ? fill_of(small) : 0);
  row.plain("log_waves", product ? std::log(large) : 0);
  row.one_hot("label", label_index(kernel.label), kLabels.size(),
              [](std::size_t i) { return std::string_view(kLabels[i]); });
  const double bytes = kernel.read_bytes + kernel.write_bytes;
  const double runs = std::max(1.0, kernel.runs);
  row.log("compute_ns", time.compute_us * 1e3 / runs);
  row.log("memory_ns", time.memory_us * 1e3 / runs);
  row.log("launch_ns", time.launch_us * 1e3 / runs);
  row.log("roofline_ns", time.time_us * 1e3 / runs);
  row.one_hot("bound", std::size_t(time.bound), 3, [](std::size_t i) { return name_of(Bound(i)); });
  row.plain("log_compute_share", std::log(std::max(1e-6, time.compute_us)) - std::log(std::max(1e-6, time.memory_us)));
  row.plain("log_l2_share", std::log1p(bytes) - std::log((device.l2_mib ? *device.l2_mib : 4.0) * 1048576));
  row.plain("log_activations_l2_share", std::log1p(std::max(0.0, bytes - kernel.weight_bytes)) -
                                            std::log((device.l2_mib ? *device.l2_mib : 4.0) * 1048576));
  row.log("elements_per_sm", kernel.output_elements / std::max(1, device.sm_count));
  row.log("ideal_ns", ideal_kernel_us(kernel, device) * 1e3);
  row.plain("training", workload.training ? 1 : 0);
  row.plain(kTimedColumn, 0);
}

struct Sums {
  double flops = 0, bytes = 0, device_ms = 0, host_ops = 0;
  std::array<double, std::size_t(KernelClass::Count)> class_ms{};
};

void put_settings(FeatureRow& row, const Device& device, const Workload& workload) {
  // Shipped predictors know the precisions up to int4; fp4, whose products run on unpacked weights, is shown as int4,
  // amp_fp16 as amp_bf16.
  const Precision shown = is_autocast(workload.precision) ? Precision::AmpBf16 : workload.precision;
  row.one_hot("precision", std::size_t(std::min(shown, Precision::Int4)), std::size_t(Precision::Fp4),
              [](std::size_t i) { return name_of(Precision(i)); });
  const Phase phase = workload.binding.phase.value_or(Phase::Forward);
  row.one_hot("phase", std::size_t(phase), std::size_t(Phase::Count), [](std::size_t i) { return name_of(Phase(i)); });
  row.plain("training", workload.training ? 1 : 0);
  const std::size_t optimizer = workload.training ? std::size_t(workload.optimizer) : std::size_t(Optimizer::Count);
  row.one_hot("optimizer", optimizer, std::size_t(Optimizer::Count),
              [](std::size_t i) { return name_of(Optimizer(i)); });
  row.log("batch", static_cast<double>(workload.binding.batch.value_or(1)));
  row.log("sequence", static_cast<double>(workload.binding.seq.value_or(0)));
  row.log("device:fp32_gflops", peak_tflops_of(device, "fp32") * 1e3);
  row.log("device:tf32_gflops", peak_tflops_of(device, "tf32_tensor") * 1e3);
  row.log("device:fp16_gflops", peak_tflops_of(device, "fp16_tensor") * 1e3);
  row.log("device:bandwidth", device.memory_bandwidth_gb_per_s);
  row.log("device:memory_gib", device.memory_gib);
  row.log("device:sms", device.sm_count);
  row.log("device:l2_mib", device.l2_mib.value_or(0));
  row.log("device:clock_mhz", device.clock_boost_mhz.value_or(0));
  row.log("device:power_limit_w", device.power_limit_w);
  row.log("device:idle_power_w", device.idle_power_w.value_or(0));
}

void put_graph(FeatureRow& row, const Sums& sums, const RooflineEstimate& roofline, const Device& device) {
  row.plain("log_host_share", std::log(std::max(1e-6, roofline.host_ms)) - std::log(std::max(1e-6, sums.device_ms)));
  const MemoryEstimate& memory = roofline.memory;
  row.log("workspace_mb", memory.workspace_mb);
  row.log("cache_mb", memory.cache_mb);
  row.log("power_w", roofline.power_eager_w);
  const double ms = std::max(1e-9, sums.device_ms);
  row.plain("compute_use", sums.flops / (ms * 1e9 * std::max(1e-9, peak_tflops_of(device, "fp16_tensor"))));
  row.plain("bandwidth_use", sums.bytes / (ms * 1e6 * std::max(1e-9, device.memory_bandwidth_gb_per_s)));
  row.each(
      "share", std::size_t(KernelClass::Count), [](std::size_t i) { return name_of(KernelClass(i)); },
      [&](std::size_t i) { return sums.class_ms[i] / ms; });
}

// Kernels of equal features are one node that runs more often.
struct DistinctKernels {
  std::vector<float> features;        // of the nodes, row after row
  std::vector<double> runs;           // of each node
  std::vector<std::int32_t> node_of;  // each kernel's node
  std::vector<std::size_t> first;     // each node's first kernel
};

std::size_t column_of(std::string_view name) {
  const std::vector<std::string> names = kernel_feature_names();
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

DistinctKernels join_equal(const std::vector<Kernel>& kernels, const RooflineEstimate& roofline, const Device& device,
                           const Workload& workload) {
  static const std::size_t kWidth = kernel_feature_names().size();
  static const std::size_t kRunsColumn = column_of("log_runs");
  DistinctKernels distinct;
  std::unordered_multimap<std::size_t, std::int32_t> seen;
  seen.reserve(kernels.size());
  std::vector<float> features;
  FeatureRow row(features);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    features.clear();
    put_kernel(row, kernels[i], roofline.kernels[i], device, workload);
    features[kRunsColumn] = 0;
    const std::string_view bytes(reinterpret_cast<const char*>(features.data()), kWidth * sizeof(float));
    const std::size_t hash = std::hash<std::string_view>{}(bytes);
    auto [found, last] = seen.equal_range(hash);
    while (found != last &&
           std::memcmp(bytes.data(), distinct.features.data() + static_cast<std::size_t>(found->second) * kWidth,
                       bytes.size()) != 0)
      ++found;
    if (found == last) {
      found = seen.emplace(hash, static_cast<std::int32_t>(distinct.runs.size()));
      distinct.features.insert(distinct.features.end(), features.begin(), features.end());
      distinct.runs.push_back(0);
      distinct.first.push_back(i);
    }
    distinct.runs[static_cast<std::size_t>(found->second)] += kernels[i].runs;
    distinct.node_of.push_back(found->second);
  }
  for (std::size_t n = 0; n < distinct.runs.size(); ++n)
    distinct.features[n * kWidth + kRunsColumn] = static_cast<float>(std::log1p(distinct.runs[n]));
  return distinct;
}

}  // namespace

std::vector<Edge> kernel_edges(const Graph& graph, std::span<const Kernel> kernels) {
  // Groups are the nodes of the main block that have a forward kernel; several kernels of one node follow each other.
  const std::size_t count = graph.main().nodes.size();
  std::vector<std::int32_t> group_of(count, -1), first(count, -1), last(count, -1), first_back(count, -1),
      last_back(count, -1);
  std::vector<Edge> edges;
  std::int32_t previous_loose = -1, last_backward = -1;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    const auto index = static_cast<std::int32_t>(i);
    const bool anchored = kernel.block == 0 && kernel.node >= 0 && static_cast<std::size_t>(kernel.node) < count;
    if (kernel.stage == Stage::Backward) last_backward = index;
    if (!anchored || kernel.stage == Stage::Update) {
      const std::int32_t source = kernel.stage == Stage::Update && last_backward >= 0 ? last_backward : previous_loose;
      if (source >= 0 && source != index)
        edges.emplace_back(source, index);
      else if (index > 0)
        edges.emplace_back(index - 1, index);
      previous_loose = index;
      continue;
    }
    const auto node = static_cast<std::size_t>(kernel.node);
    auto& begin = kernel.stage == Stage::Forward ? first[node] : first_back[node];
    auto& end = kernel.stage == Stage::Forward ? last[node] : last_back[node];
    if (end >= 0) edges.emplace_back(end, index);
    if (begin < 0) begin = index;
    end = index;
    if (kernel.stage == Stage::Forward) group_of[node] = kernel.node;
  }
  for (std::size_t node = 0; node < count; ++node) {
    if (first_back[node] >= 0 && last[node] >= 0) edges.emplace_back(last[node], first_back[node]);
  }
  for (const auto& [from, to] : flow_between_groups(graph, group_of)) {
    const auto source = static_cast<std::size_t>(from), target = static_cast<std::size_t>(to);
    edges.emplace_back(last[source], first[target]);
    if (first_back[source] >= 0 && last_back[target] >= 0) edges.emplace_back(last_back[target], first_back[source]);
  }
  return edges;
}

KernelTensors encode_kernels(const Graph& graph, const Totals& totals, const std::vector<Kernel>& kernels,
                             const RooflineEstimate& roofline, const Device& device, const Workload& workload,
                             std::span<const double> run_us) {
  KernelTensors out;
  DistinctKernels distinct = join_equal(kernels, roofline, device, workload);
  out.graph.nodes = static_cast<std::int32_t>(distinct.runs.size());
  out.graph.node_features = distinct.features;
  std::vector<Edge> edges = kernel_edges(graph, kernels);
  for (auto& [from, to] : edges)
    from = distinct.node_of[static_cast<std::size_t>(from)], to = distinct.node_of[static_cast<std::size_t>(to)];
  out.graph.sources = make_sparse_rows(out.graph.nodes, both_ways(std::move(edges)));
  out.device_ms.resize(distinct.runs.size());
  out.host_ms.resize(distinct.runs.size());
  Sums sums;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    const auto node = static_cast<std::size_t>(distinct.node_of[i]);
    const double device_ms = roofline.kernels[i].time_us / 1e3;
    out.device_ms[node] += static_cast<float>(device_ms);
    out.host_ms[node] += static_cast<float>(kernel.runs * kernel.host_ops);
    sums.flops += kernel.runs * kernel.flops;
    sums.bytes += kernel.runs * (kernel.read_bytes + kernel.write_bytes);
    sums.device_ms += device_ms;
    sums.host_ops += kernel.runs * kernel.host_ops;
    sums.class_ms[std::size_t(kernel.kernel_class)] += device_ms;
  }
  const auto host_op_ms = static_cast<float>(roofline.host_ms / std::max(1e-9, sums.host_ops));
  for (float& host_ms : out.host_ms) host_ms *= host_op_ms;
  out.graph.node_width = static_cast<std::int32_t>(kernel_feature_names().size());
  if (!run_us.empty()) {
    static const std::size_t kTimed = kernel_timed_column();
    for (std::size_t node = 0; node < distinct.runs.size(); ++node) {
      const double timed_ms = run_us[distinct.first[node]] * distinct.runs[node] / 1e3;
      out.graph.node_features[node * static_cast<std::size_t>(out.graph.node_width) + kTimed] = static_cast<float>(
          std::log(std::max(1e-9, timed_ms) / std::max(1e-9, static_cast<double>(out.device_ms[node]))));
      out.device_ms[node] = static_cast<float>(timed_ms);
    }
  }
  out.memory_mb = roofline.memory.total_mb;
  out.node_of = std::move(distinct.node_of);
  out.runs = std::move(distinct.runs);
  FeatureRow globals(out.graph.globals);
  put_settings(globals, device, workload);
  put_graph(globals, sums, roofline, device);
  for (const float number : extract_table(graph, totals, kernels, workload, device, roofline))
    globals.plain("", number);
  return out;
}

std::vector<std::string> kernel_feature_names() {
  FeatureRow row;
  put_kernel(row, Kernel{}, KernelTime{}, Device{}, Workload{});
  return row.take_names();
}

std::vector<std::string> kernel_global_feature_names() {
  FeatureRow row;
  put_settings(row, Device{}, Workload{});
  put_graph(row, Sums{}, RooflineEstimate{}, Device{});
  std::vector<std::string> names = row.take_names();
  for (const FeatureColumn& column : table_schema().columns) names.push_back("table:" + column.name);
  return names;
}

std::size_t kernel_timed_column() { return column_of(kTimedColumn); }

std::size_t kernel_setting_count() {
  FeatureRow row;
  put_settings(row, Device{}, Workload{});
  return row.take_names().size();
}

FeatureSchema kernel_schema() {
  static const FeatureSchema kSchema = kernel_schema(schema_sample());
  return kSchema;
}

FeatureSchema kernel_schema(const SchemaSample& sample) {
  ValueHash hash;
  for (const std::string& name : kernel_feature_names()) hash.add(name);
  for (const std::string& name : kernel_global_feature_names()) hash.add("global:" + name);
  // Every second case: inference, training and decode of convolutions and transformers are among them.
  for (std::size_t i = 0; i < sample.cases.size(); i += 2) {
    const SampleRun& run = sample.runs[sample.cases[i].run];
    const Device& device = sample.devices[sample.cases[i].device];
    std::vector<double> run_us;
    for (const Kernel& kernel : run.kernels) run_us.push_back(1.3 * ideal_kernel_us(kernel, device));
    const KernelTensors t =
        encode_kernels(*run.graph, run.totals, run.kernels, sample_estimate(run, device), device, run.workload, run_us);
    hash.add_all(t.graph.node_features);
    hash.add_all(t.graph.globals);
    hash.add_all(t.graph.sources.offsets);
    hash.add_all(t.graph.sources.columns);
    hash.add_all(t.device_ms);
    hash.add_all(t.host_ms);
    hash.add_all(t.node_of);
    hash.add(t.memory_mb);
  }
  return {"gnn-kernels", 4, hash.value()};
}

}  // namespace forerun
