#include "features/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace forerun {
namespace {

constexpr std::size_t kClasses = std::size_t(KernelClass::Count);
constexpr std::size_t kIntensityBins = 8;

// Builds the schema on the first pass and the row on every pass, from the same statements, so that they cannot differ.
class Row {
 public:
  explicit Row(TableSchema* schema) : schema_(schema) {}

  void add(const std::string& name, const char* unit, double value, int monotone = 0) {
    if (schema_ != nullptr) schema_->columns.push_back({name, unit, monotone});
    values_.push_back(float(value));
  }
  // Logarithm of a non-negative quantity.
  void add_log(const std::string& name, const char* unit, double value, int monotone = 0) {
    add("log_" + name, unit, std::log(std::max(value, 1e-6)), monotone);
  }
  std::vector<float> take() { return std::move(values_); }

 private:
  TableSchema* schema_;
  std::vector<float> values_;
};

struct ClassSums {
  double time = 0, macs = 0, bytes = 0, count = 0, weights = 0;
};

double figure(const std::optional<double>& value, double fallback) { return value.value_or(fallback); }

void add_settings(Row& row, const Workload& w) {
  row.add_log("batch", "1", double(w.binding.batch.value_or(1)));
  row.add_log("sequence", "tokens", double(w.binding.seq.value_or(1)));
  row.add("precision", "enum", double(w.precision));
  row.add("element_bytes", "B", w.precision <= Precision::Tf32 ? 4 : 2);
  row.add("phase", "enum", double(w.binding.phase.value_or(Phase::Forward)));
  row.add("training", "flag", w.training ? 1 : 0);
  row.add("optimizer", "enum", w.training ? double(w.optimizer) : -1);
}

void add_totals(Row& row, const Graph& graph, const Totals& t, const std::vector<Kernel>& kernels) {
  row.add_log("macs", "1", double(t.macs));
  row.add_log("flops", "1", double(t.flops));
  row.add_log("parameters", "1", double(t.parameters));
  row.add_log("bytes_moved", "B", double(t.bytes_moved));
  row.add_log("activation_peak", "B", double(t.activation_peak_bytes));
  row.add_log("macs_per_parameter", "1", double(t.macs) / std::max<double>(1, double(t.parameters)));
  double host_ops = 0;
  double launches = 0;
  for (const Kernel& k : kernels) {
    host_ops += k.host_ops * k.runs;
    launches += k.launches * k.runs;
  }
  row.add_log("kernels", "1", double(kernels.size()));
  row.add_log("host_ops", "1", host_ops);
  row.add_log("launches", "1", launches);
  row.add_log("graph_inputs", "1", double(graph.main().inputs.size()));
  double input_elements = 0;
  for (const ValueId id : graph.main().inputs) input_elements += double(elements_of(graph.values[std::size_t(id)]));
  row.add_log("input_elements", "1", input_elements);
}

void add_classes(Row& row, const std::vector<Kernel>& kernels, const RooflineEstimate& r) {
  std::array<ClassSums, kClasses> sums{};
  ClassSums all;
  std::array<double, 3> by_bound{};
  std::array<double, 3> by_stage{};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& k = kernels[i];
    ClassSums& s = sums[std::size_t(k.kernel_class)];
    const double time = r.kernels[i].time_us;
    const double bytes = (k.read_bytes + k.write_bytes) * k.runs;
    s.time += time;
    s.macs += k.macs * k.runs;
    s.bytes += bytes;
    s.count += k.runs;
    s.weights += k.weight_bytes * k.runs;
    all.time += time;
    all.macs += k.macs * k.runs;
    all.bytes += bytes;
    all.count += k.runs;
    by_bound[std::size_t(r.kernels[i].bound)] += time;
    by_stage[std::size_t(k.stage)] += time;
  }
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  for (std::size_t c = 0; c < kClasses; ++c) {
    const std::string name(name_of(KernelClass(c)));
    row.add(name + "_time_share", "1", share(sums[c].time, all.time));
    row.add(name + "_count_share", "1", share(sums[c].count, all.count));
    row.add(name + "_macs_share", "1", share(sums[c].macs, all.macs));
    row.add(name + "_bytes_share", "1", share(sums[c].bytes, all.bytes));
    row.add_log(name + "_mean_time", "us", share(sums[c].time, sums[c].count));
  }
  row.add("compute_bound_share", "1", share(by_bound[0], all.time));
  row.add("memory_bound_share", "1", share(by_bound[1], all.time));
  row.add("launch_bound_share", "1", share(by_bound[2], all.time));
  row.add("backward_share", "1", share(by_stage[1], all.time));
  row.add("update_share", "1", share(by_stage[2], all.time));
  row.add_log("mean_kernel_time", "us", share(all.time, all.count));
  row.add_log("mean_kernel_bytes", "B", share(all.bytes, all.count));
}

double log_at_least(double smallest, double value) { return std::log(std::max(smallest, value)); }

// Sums over matrix products, weighted by time.
struct ProductSums {
  double time = 0, m = 0, n = 0, k = 0, batch = 0, waves = 0;

  void add(const Kernel& kernel, double t, int sm_count) {
    time += t;
    m += t * log_at_least(1.0, kernel.m);
    n += t * log_at_least(1.0, kernel.n);
    k += t * log_at_least(1.0, kernel.k);
    batch += t * log_at_least(1.0, kernel.batch);
    waves +=
        t * log_at_least(0.01, kernel.m / 128 * std::max(1.0, kernel.n / 128) * kernel.batch / std::max(1, sm_count));
  }
};

// Sums over convolutions, weighted by time.
struct ConvSums {
  double time = 0, area1 = 0, area_large = 0, strided = 0, grouped = 0, aligned8 = 0, aligned4 = 0, spatial = 0,
         narrow = 0, deep = 0, first_layer = 0;

  void add(const Kernel& k, double t) {
    const auto aligned = [&](double to) {
      return std::fmod(k.input_channels / k.groups, to) == 0 && std::fmod(k.output_channels / k.groups, to) == 0;
    };
    time += t;
    area1 += k.kernel_area == 1 ? t : 0;
    area_large += k.kernel_area > 9 ? t : 0;
    strided += k.stride > 1 ? t : 0;
    grouped += k.groups > 1 && k.kernel_class == KernelClass::Conv ? t : 0;
    aligned8 += aligned(8) ? t : 0;
    aligned4 += aligned(4) ? t : 0;
    spatial += t * log_at_least(1.0, k.spatial);
    narrow += k.input_channels / k.groups < 32 ? t : 0;
    deep += k.input_channels / k.groups >= 256 ? t : 0;
    first_layer += k.input_channels <= 4 ? t : 0;
  }
};

bool is_conv(KernelClass kernel_class) {
  return kernel_class == KernelClass::Conv || kernel_class == KernelClass::DepthwiseConv ||
         kernel_class == KernelClass::ConvTranspose;
}

// A bin per factor 4 of flops per byte, from 1/4 on.
std::size_t intensity_bin(double flops, double bytes) {
  const double intensity = bytes > 0 ? flops / bytes : 0;
  const auto bin =
      std::size_t(std::clamp(std::log2(std::max(intensity, 0.25)) + 2, 0.0, double(2 * kIntensityBins - 1)) / 2);
  return std::min(bin, kIntensityBins - 1);
}

// Averages over kernels weighted by the roofline's time: what the dominant kernels look like.
void add_shapes(Row& row, const std::vector<Kernel>& kernels, const RooflineEstimate& r, const Device& device) {
  std::array<double, kIntensityBins> intensity{};
  ProductSums product;
  ConvSums conv;
  double total = 0, tiny = 0, short_time = 0, resident = 0;
  double attention = 0, head = 0, keys = 0, inner = 0, inner_time = 0;
  const double l2 = figure(device.l2_mib, 4) * 1048576.0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& k = kernels[i];
    const double t = r.kernels[i].time_us;
    total += t;
    const double bytes = k.read_bytes + k.write_bytes;
    intensity[intensity_bin(k.flops, bytes)] += t;
    if (t / std::max(1.0, k.runs) < 5) short_time += t;
    if (bytes < 0.5 * l2) resident += t;
    if (k.output_elements < 65536) tiny += t;
    if (k.m > 0 && k.macs > 0 && k.kernel_class != KernelClass::Attention) product.add(k, t, device.sm_count);
    if (is_conv(k.kernel_class)) conv.add(k, t);
    if (k.kernel_class == KernelClass::Attention) {
      attention += t;
      head += t * k.k;
      keys += t * log_at_least(1.0, k.n);
    }
    if (k.inner > 0 && k.macs == 0) {
      inner_time += t;
      inner += t * log_at_least(1.0, k.inner);
    }
  }
  const auto mean = [](double sum, double weight) { return weight > 0 ? sum / weight : -1; };
  for (std::size_t b = 0; b < kIntensityBins; ++b) {
    row.add("intensity_bin_" + std::to_string(b), "1", total > 0 ? intensity[b] / total : 0);
  }
  row.add("short_kernel_share", "1", mean(short_time, total));
  row.add("tiny_output_share", "1", mean(tiny, total));
  row.add("l2_resident_share", "1", mean(resident, total));
  row.add("product_log_m", "1", mean(product.m, product.time));
  row.add("product_log_n", "1", mean(product.n, product.time));
  row.add("product_log_k", "1", mean(product.k, product.time));
  row.add("product_log_batch", "1", mean(product.batch, product.time));
  row.add("product_log_waves", "1", mean(product.waves, product.time));
  row.add("conv_1x1_share", "1", mean(conv.area1, conv.time));
  row.add("conv_large_share", "1", mean(conv.area_large, conv.time));
  row.add("conv_strided_share", "1", mean(conv.strided, conv.time));
  row.add("conv_grouped_share", "1", mean(conv.grouped, conv.time));
  row.add("conv_aligned8_share", "1", mean(conv.aligned8, conv.time));
  row.add("conv_aligned4_share", "1", mean(conv.aligned4, conv.time));
  row.add("conv_log_spatial", "1", mean(conv.spatial, conv.time));
  row.add("conv_narrow_share", "1", mean(conv.narrow, conv.time));
  row.add("conv_deep_share", "1", mean(conv.deep, conv.time));
  row.add("conv_first_layer_share", "1", mean(conv.first_layer, conv.time));
  row.add("attention_head_size", "1", mean(head, attention));
  row.add("attention_log_keys", "tokens", mean(keys, attention));
  row.add("reduction_log_length", "1", mean(inner, inner_time));
}

void add_roofline(Row& row, const RooflineEstimate& r) {
  row.add_log("device_time", "ms", r.device_ms);
  row.add_log("host_time", "ms", r.host_ms);
  row.add("log_host_over_device", "1", std::log(std::max(1e-6, r.host_ms) / std::max(1e-6, r.device_ms)));
  row.add("compute_share", "1", r.compute_share);
  row.add("memory_share", "1", r.memory_share);
  row.add_log("roofline_power", "W", r.power_eager_w);
  const MemoryEstimate& m = r.memory;
  row.add_log("weights", "MB", m.weights_mb);
  row.add_log("activations", "MB", m.activations_mb);
  row.add_log("saved", "MB", m.saved_mb);
  row.add_log("memory", "MB", m.total_mb);
  const double total = std::max(1e-6, m.total_mb);
  row.add("weights_share", "1", m.weights_mb / total);
  row.add("activations_share", "1", m.activations_mb / total);
  row.add("workspace_share", "1", m.workspace_mb / total);
  row.add("optimizer_share", "1", m.optimizer_mb / total);
  row.add("gradients_share", "1", m.gradients_mb / total);
}

void add_device(Row& row, const Device& d) {
  const auto peak = [&](const char* key) {
    const auto found = d.peak_tflops.find(key);
    return found != d.peak_tflops.end() ? found->second : 0.0;
  };
  row.add_log("device_fp32", "TFLOP/s", peak("fp32"));
  row.add_log("device_tf32", "TFLOP/s", peak("tf32_tensor"));
  row.add_log("device_fp16", "TFLOP/s", peak("fp16_tensor"));
  row.add_log("device_bandwidth", "GB/s", d.memory_bandwidth_gb_per_s);
  row.add_log("device_l2", "MiB", figure(d.l2_mib, 0));
  row.add_log("device_sms", "1", d.sm_count);
  row.add_log("device_clock", "MHz", figure(d.clock_boost_mhz, 0));
  row.add_log("device_power_limit", "W", d.power_limit_w);
  row.add_log("device_memory", "GiB", d.memory_gib);
  row.add("device_compute_capability", "1", figure(d.compute_capability, 0));
  row.add_log("device_shared_memory", "KiB", figure(d.shared_memory_kib_per_sm, 0));
  row.add("device_nvidia", "flag", d.maker == "NVIDIA" ? 1 : 0);
}

std::vector<float> build(TableSchema* schema, const Graph& graph, const Totals& totals,
                         const std::vector<Kernel>& kernels, const Workload& workload, const Device& device,
                         const RooflineEstimate& roofline) {
  Row row(schema);
  add_settings(row, workload);
  add_totals(row, graph, totals, kernels);
  add_classes(row, kernels, roofline);
  add_shapes(row, kernels, roofline, device);
  add_roofline(row, roofline);
  add_device(row, device);
  return row.take();
}

std::uint64_t hash_of(const TableSchema& schema) {
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  const auto mix = [&hash](std::string_view text) {
    for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
    hash = (hash ^ 0xff) * 1099511628211ULL;
  };
  mix(schema.name);
  mix(std::to_string(schema.version));
  for (const FeatureColumn& column : schema.columns) {
    mix(column.name);
    mix(column.unit);
  }
  return hash;
}

}  // namespace

const TableSchema& table_schema() {
  static const TableSchema kSchema = [] {
    TableSchema schema{"table", 1, {}, 0};
    Graph empty;
    empty.blocks.emplace_back();
    build(&schema, empty, Totals{}, {}, Workload{}, Device{}, RooflineEstimate{});
    schema.hash = hash_of(schema);
    return schema;
  }();
  return kSchema;
}

std::vector<float> extract_table(const Graph& graph, const Totals& totals, const std::vector<Kernel>& kernels,
                                 const Workload& workload, const Device& device, const RooflineEstimate& roofline) {
  return build(nullptr, graph, totals, kernels, workload, device, roofline);
}

}  // namespace forerun
