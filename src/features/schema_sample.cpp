#include "features/schema_sample.hpp"

#include <array>
#include <utility>

#include "features/kernel_facts.hpp"
#include "features/sample_graphs.hpp"

namespace forerun {
namespace {

// One device of every kind that encoders tell apart: generation, maker, measured or not, whole or a slice.
struct DeviceRow {
  const char *name, *maker, *architecture;
  double capability;  // 0: none
  int sms;
  double base_mhz, boost_mhz, memory_gib, bandwidth, l2_mib, shared_kib, power_w, idle_w;
  double fp32, tensor16, tf32, tensor8;  // TFLOP/s; 0: no unit
  bool is_measured, has_fp8;
  const char* memory_type;
};
// clang-format off
constexpr std::array kDevices = {
    DeviceRow{"Sample P", "NVIDIA", "pascal", 6.1, 22, 850, 1100, 8, 190, 2, 96, 75, 9, 5.5, 0, 0, 0, false, false, "GDDR5"},
    DeviceRow{"Sample Q", "NVIDIA", "pascal", 6.0, 54, 1190, 1300, 15, 700, 4, 64, 245, 26, 9.1, 0, 0, 0, false, false, "HBM2"},
    DeviceRow{"Sample V", "NVIDIA", "volta", 7.0, 82, 1250, 1400, 16, 880, 6, 96, 280, 25, 14.3, 115, 0, 0, false, false, ""},
    DeviceRow{"Sample T", "NVIDIA", "turing", 7.5, 38, 600, 1570, 15, 310, 4, 64, 72, 10, 7.9, 63, 0, 128, true, false, ""},
    DeviceRow{"Sample A", "NVIDIA", "ampere", 8.0, 106, 1080, 1420, 39, 1500, 40, 164, 390, 50, 19.3, 305, 152, 610, true, false, ""},
    DeviceRow{"Sample RTX", "NVIDIA", "ada", 8.9, 60, 800, 2050, 23, 300, 47, 100, 73, 16, 30.1, 119, 59, 240, true, true, ""},
    DeviceRow{"Sample H", "NVIDIA", "hopper", 9.0, 130, 1300, 1950, 140, 4700, 50, 228, 690, 75, 66, 975, 488, 1950, false, true, ""},
    DeviceRow{"Sample B", "NVIDIA", "blackwell", 10.0, 146, 1200, 1900, 178, 7900, 126, 228, 990, 140, 78, 2230, 1110, 4470, false, true, ""},
    DeviceRow{"Sample GX", "NVIDIA", "blackwell", 12.0, 168, 2000, 2400, 31, 1770, 96, 100, 570, 28, 104, 419, 105, 838, false, true, "GDDR7"},
    DeviceRow{"Sample M", "AMD", "cdna3", 0, 300, 900, 2090, 190, 5200, 250, 64, 740, 90, 160, 1290, 640, 2600, false, false, ""},
    DeviceRow{"Sample X", "Intel", "xe2", 0, 20, 2600, 2800, 12, 450, 18, 256, 185, 30, 13.6, 115, 58, 230, false, false, ""}};
// clang-format on

Device device_of(const DeviceRow& row) {
  Device d;
  d.id = d.name = row.name;
  d.maker = row.maker;
  d.kind = "gpu";
  d.architecture = row.architecture;
  if (row.capability > 0) d.compute_capability = row.capability;
  d.sm_count = row.sms;
  d.clock_base_mhz = row.base_mhz;
  d.clock_boost_mhz = row.boost_mhz;
  d.memory_gib = row.memory_gib;
  d.memory_type = row.memory_type;
  d.memory_bandwidth_gb_per_s = row.bandwidth;
  d.l2_mib = row.l2_mib;
  d.shared_memory_kib_per_sm = row.shared_kib;
  d.power_limit_w = row.power_w;
  d.idle_power_w = row.idle_w;
  d.peak_tflops = {{"fp32", row.fp32}, {"fp64", row.fp32 / 30}, {"fp16", 2 * row.fp32}};
  if (row.tensor16 > 0) d.peak_tflops["fp16_tensor"] = row.tensor16;
  if (row.tf32 > 0) d.peak_tflops["tf32_tensor"] = row.tf32;
  if (row.tf32 > 0) d.peak_tflops["bf16_tensor"] = row.tensor16;
  if (row.tensor8 > 0) d.peak_tflops["int8_tensor"] = row.tensor8;
  if (row.has_fp8) d.peak_tflops["fp8_tensor"] = row.tensor8;
  if (row.is_measured) {
    MeasuredCeilings measured;
    for (const auto& [key, rate] : d.peak_tflops) measured.peak_tflops[key] = 0.83 * rate;
    measured.memory_bandwidth_gb_per_s = 0.89 * row.bandwidth;
    measured.l2_bandwidth_gb_per_s = 3.3 * row.bandwidth;
    measured.kernel_launch_us = 3.9;
    measured.graph_kernel_us = 1.3;
    measured.idle_power_w = 1.1 * row.idle_w;
    d.measured = measured;
  }
  return d;
}

std::vector<Device> make_devices() {
  std::vector<Device> devices;
  for (const DeviceRow& row : kDevices) devices.push_back(device_of(row));
  Device& parent = devices[4];
  parent.mig = {{"1g", 1, 1, 4.75, 14, 7}, {"3g", 3, 4, 19.5, 42, 2}, {"7g", 7, 8, 39, 98, 1}};
  devices.push_back(slice_of(parent, parent.mig[1]));
  return devices;
}

SampleRun make_run(std::string_view name, std::shared_ptr<const Graph> graph, Precision precision) {
  SampleRun run{.name = name, .graph = std::move(graph), .workload = {}, .totals = {}, .kernels = {}};
  run.workload.precision = run.workload.binding.precision = precision;
  run.workload.binding.batch = run.graph->values[std::size_t(run.graph->main().inputs[0])].dims[0];
  return run;
}
SampleRun trained(SampleRun run, Optimizer optimizer) {
  run.workload.training = run.workload.binding.training = true;
  run.workload.optimizer = optimizer;
  return run;
}
SampleRun in_phase(SampleRun run, Phase phase, std::int64_t sequence) {
  run.workload.binding.phase = phase;
  run.workload.binding.seq = sequence;
  return run;
}

std::vector<SampleRun> make_runs() {
  const auto shared = [](Graph graph) { return std::make_shared<const Graph>(std::move(graph)); };
  const auto convolutions = shared(sample_convolutions()), mix = shared(sample_mix()),
             forward = shared(sample_transformer(Phase::Forward)), prefill = shared(sample_transformer(Phase::Prefill)),
             decode = shared(sample_transformer(Phase::Decode));
  std::vector<SampleRun> runs = {
      make_run("convolutions", convolutions, Precision::Fp32),
      make_run("convolutions in half precision", convolutions, Precision::Fp16),
      trained(make_run("training of convolutions", convolutions, Precision::AmpBf16), Optimizer::Sgd),
      in_phase(make_run("prompt", prefill, Precision::Bf16), Phase::Prefill, 45),
      in_phase(make_run("decode step", decode, Precision::Bf16), Phase::Decode, 150),
      in_phase(make_run("quantised decode step", decode, Precision::Int4), Phase::Decode, 150),
      trained(in_phase(make_run("training of a transformer", forward, Precision::Fp32), Phase::Forward, 45),
              Optimizer::AdamW),
      make_run("mix", mix, Precision::IeeeFp32),
      make_run("quantised mix", mix, Precision::Int8),
      trained(make_run("training of the mix", mix, Precision::Tf32), Optimizer::Adam),
      in_phase(make_run("prompt in an engine", prefill, Precision::Fp8), Phase::Prefill, 45)};
  runs.back().workload.fused_engine = true;
  for (SampleRun& run : runs) {
    run.totals = sum_totals(*run.graph);
    run.kernels = list_kernels(*run.graph, run.workload);
  }
  return runs;
}

Kernel product(KernelClass kernel_class, Math math, double batch, double m, double n, double k, double bytes) {
  Kernel kernel;
  kernel.kernel_class = kernel_class;
  kernel.math = math;
  kernel.batch = batch;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.macs = batch * m * n * k;
  kernel.flops = 2 * kernel.macs;
  kernel.output_elements = batch * m * n;
  kernel.read_bytes = 0.7 * bytes;
  kernel.write_bytes = 0.3 * bytes;
  return kernel;
}

// Few rows, a deep product, and bytes that half of an L2 or a whole one hold in part.
void add_special_kernels(std::vector<Kernel>& kernels) {
  constexpr double kMiB = 1048576;
  kernels.push_back(product(KernelClass::Linear, Math::Fp32, 1, 3, 3000, 700, 8.5e6));
  kernels.push_back(product(KernelClass::Linear, Math::Fp32, 1, 14, 3000, 700, 8.6e6));
  kernels.push_back(product(KernelClass::Linear, Math::Fp32, 1, 500, 700, 20000, 98e6));
  kernels.push_back(product(KernelClass::BatchedMatMul, Math::Fp16Tensor, 130, 200, 150, 90, 20.2 * kMiB));
  Kernel element = product(KernelClass::Elementwise, Math::Fp32, 1, 0, 0, 0, 46 * kMiB);
  element.output_elements = 4e6;
  kernels.push_back(element);
}

// Sizes are no powers of two, so that results do not lie where a rule changes over.
std::vector<Kernel> make_kernels() {
  constexpr std::array kLabels = {"Add",    "MaxPool", "LayerNormalization", "Softmax",
                                  "Gather", "gelu",    kChannelsLastConv};
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < 2 * std::size_t(KernelClass::Count); ++i) {
    Kernel k;
    k.kernel_class = KernelClass(i / 2);
    k.math = Math(i % std::size_t(Math::Count));
    k.stage = Stage(i % 3);
    k.label = kLabels[i % kLabels.size()];
    const double size = i % 2 == 0 ? 23 : 1;
    const bool is_product = k.kernel_class <= KernelClass::Recurrent;
    k.batch = i % 4 == 0 ? 12 : 1;
    k.m = is_product ? (i % 5 == 0 ? 1 : 210 * size) : 0;
    k.n = is_product ? 330 : 0;
    k.k = is_product ? 72 * size : 0;
    k.macs = k.batch * k.m * k.n * k.k;
    k.output_elements = is_product ? k.batch * k.m * k.n : 90000 * size;
    k.flops = is_product ? 2 * k.macs : 3 * k.output_elements;
    k.weight_bytes = is_product && k.batch == 1 ? 2 * k.n * k.k : 0;
    k.read_bytes = 4.5 * k.output_elements + 2.5 * k.weight_bytes;
    k.write_bytes = 2 * k.output_elements;
    k.kernel_area = i % 3 == 0 ? 9 : 1;
    k.stride = i % 7 == 0 ? 2 : 1;
    k.input_channels = k.kernel_class == KernelClass::DepthwiseConv ? 330 : 72 * size;
    k.output_channels = 330;
    k.groups = k.kernel_class == KernelClass::DepthwiseConv ? 330 : i % 6 == 0 ? 2 : 1;
    k.spatial = 210;
    k.inner = is_product ? 0 : 300;
    k.launches = i % 4 == 1 ? 2 : 1;
    k.serial_steps = k.kernel_class == KernelClass::Copy ? 7 : 0;
    k.causal = i % 4 < 2;
    k.in_step = i % 3 == 1;
    kernels.push_back(k);
  }
  add_special_kernels(kernels);
  return kernels;
}

}  // namespace

SchemaSample make_schema_sample() {
  SchemaSample sample{.runs = make_runs(), .devices = make_devices(), .cases = {}, .kernels = make_kernels()};
  // As few as keep all hashes within 3 ms. The step has no divisor in common with the number of devices.
  constexpr std::size_t kStep = 5;
  for (std::size_t i = 0; i < sample.devices.size(); ++i)
    sample.cases.push_back({i % sample.runs.size(), (kStep * i + 1) % sample.devices.size()});
  return sample;
}

const SchemaSample& schema_sample() {
  static const SchemaSample kSample = make_schema_sample();
  return kSample;
}

RooflineEstimate sample_estimate(const SampleRun& run, const Device& device) {
  RooflineEstimate r;
  double host_ops = 0;
  for (const Kernel& k : run.kernels) {
    KernelTime time;
    time.compute_us = k.runs * k.flops / (0.7e6 * data_sheet_tflops(device, k.math));
    time.memory_us = k.runs * (k.read_bytes + k.write_bytes) / (0.8e3 * device.memory_bandwidth_gb_per_s);
    time.launch_us = 2.3 * k.runs * k.launches;
    time.time_us = time.compute_us + time.memory_us + time.launch_us;
    time.bound = Bound(r.kernels.size() % 3);
    host_ops += k.runs * k.host_ops;
    r.device_ms += time.time_us / 1e3;
    r.kernels.push_back(time);
  }
  r.host_ms = 0.006 * host_ops;
  r.latency_eager_ms = r.device_ms + 0.5 * r.host_ms;
  r.latency_graph_ms = r.device_ms;
  r.compute_share = 0.37;
  r.memory_share = 0.41;
  r.memory = {.weights_mb = double(run.totals.weight_bytes) / 1048576,
              .activations_mb = double(run.totals.activation_peak_bytes) / 1048576,
              .workspace_mb = 9,
              .gradients_mb = run.workload.training ? 3.3 : 0,
              .optimizer_mb = run.workload.training ? 6.6 : 0,
              .cache_mb = run.workload.binding.phase == Phase::Decode ? 1.7 : 0,
              .saved_mb = run.workload.training ? 12.5 : 0,
              .total_mb = 40 + double(run.totals.weight_bytes) / 1048576,
              .device_total_mb = 440 + double(run.totals.weight_bytes) / 1048576};
  r.power_eager_w = 0.6 * device.power_limit_w;
  r.power_graph_w = 0.7 * device.power_limit_w;
  return r;
}

}  // namespace forerun
