#include "features/kernel_facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "features/schema_sample.hpp"
#include "features/shape_facts.hpp"
#include "features/value_hash.hpp"

namespace forerun {
namespace {

constexpr double kLaunchUs = 1.0;

// Keys of Device::peak_tflops for each Math, best first. Products of fp16 add up in fp32: without tensor cores at its
// rate.
// clang-format off
constexpr std::array<std::array<const char*, 3>, std::size_t(Math::Count)> kPeakKeys = {{
    {"fp64_tensor", "fp64", nullptr}, {"fp32", nullptr, nullptr}, {"tf32_tensor", "fp32", nullptr}, {"fp16_tensor", "fp32", "fp16"},
    {"bf16_tensor", "bf16", "fp32"}, {"fp8_tensor", "fp16_tensor", "fp32"}, {"int8_tensor", "int8", "fp32"}, {"int4_tensor", "int8_tensor", "fp32"},
    {"fp16", "fp32", nullptr}, {"bf16", "fp32", nullptr}}};
// clang-format on

// Operators whose kernels differ from others of their class; 0 = none of them.
// clang-format off
constexpr std::array<std::string_view, 36> kFunctions = {
    "Add", "Mul", "Sub", "Div", "bias", "Concat", "Resize", "contiguous", "Pad", "Slice", "Gather", "MaxPool", "AveragePool",
    "GlobalAveragePool", "ReduceMean", "group_norm", "GroupNormalization", "RMSNormalization", "LayerNormalization", "Softmax", "gelu", "Gelu",
    "silu", "Erf", "RotaryEmbedding", "conv_input_gradient", "conv_weight_gradient", "input_gradient", "weight_gradient", "gradient",
    "accumulate", "bias_gradient", "autocast", "attention_gradient", kChannelsLastConv, "gelu_gradient"};
// clang-format on

struct Ideal {
  double compute_us = 0, memory_us = 0, total_us = 0;
};

Ideal ideal_of(const Kernel& kernel, const Device& device) {
  Ideal ideal;
  double flops = kernel.flops;
  if (kernel.kernel_class == KernelClass::Attention && kernel.causal && kernel.m > 1) flops *= 0.5;
  ideal.compute_us = flops / (data_sheet_tflops(device, kernel.math) * 1e6);
  ideal.memory_us = (kernel.read_bytes + kernel.write_bytes) / (std::max(1.0, device.memory_bandwidth_gb_per_s) * 1e3);
  ideal.memory_us = std::max(ideal.memory_us, kSerialStepUs * kernel.serial_steps);
  ideal.total_us = std::max(ideal.compute_us, ideal.memory_us) + kLaunchUs * std::max(1.0, kernel.launches);
  return ideal;
}

double tiles(const Kernel& kernel, double side_m, double side_n) {
  return std::ceil(std::max(1.0, kernel.m) / side_m) * std::ceil(std::max(1.0, kernel.n) / side_n) *
         std::max(1.0, kernel.batch);
}

// One statement per fact, visited for the names and for the numbers alike, so that they cannot differ.
template <typename Put>
void visit_facts(const Kernel& k, const Device& d, bool host_included, Put put) {
  const Ideal ideal = ideal_of(k, d);
  const double bytes = k.read_bytes + k.write_bytes;
  const double sms = std::max(1, d.sm_count);
  const bool product = k.m > 0 && k.macs > 0;
  put("class", double(k.kernel_class));
  put("function", double(kernel_function(k.label)));
  put("stage", double(k.stage));
  put("math", double(k.math));
  put("launches", k.launches);
  put("causal", k.causal ? 1 : 0);
  put("log_ideal_us", log_of(ideal.total_us));
  put("log_compute_over_memory", log_of(ideal.compute_us) - log_of(ideal.memory_us));
  put("log_macs", log_of(k.macs));
  put("log_bytes", log_of(bytes));
  put("log_weight_bytes", log_of(k.weight_bytes));
  put("log_read_over_write", log_of(k.read_bytes) - log_of(k.write_bytes));
  put("log_output", log_of(k.output_elements));
  put("log_output_per_sm", log_of(k.output_elements / sms));
  visit_shape_facts(k, put);
  const double large = tiles(k, 128, 128) / sms, small = tiles(k, 64, 64) / sms;
  put("log_waves_128", product ? log_of(large) : -8);
  put("log_waves_64", product ? log_of(small) : -8);
  put("wave_fill_128", product ? large / std::ceil(large) : 0);
  put("wave_fill_64", product ? small / std::ceil(small) : 0);
  put("log_bytes_over_l2", log_of(bytes / (d.l2_mib.value_or(4) * 1048576)));
  put("log_activations_over_l2", log_of((bytes - k.weight_bytes) / (d.l2_mib.value_or(4) * 1048576)));
  put("host_included", host_included ? 1 : 0);
  put("in_step", k.in_step ? 1 : 0);
  put("device_log_sms", log_of(sms));
  put("device_log_clock", log_of(d.clock_boost_mhz.value_or(1500)));
  put("device_log_bandwidth", log_of(d.memory_bandwidth_gb_per_s));
  put("device_log_peak", log_of(data_sheet_tflops(d, k.math)));
  put("device_log_peak_per_sm", log_of(data_sheet_tflops(d, k.math) / sms));
  put("device_log_balance", log_of(data_sheet_tflops(d, k.math) * 1e3 / std::max(1.0, d.memory_bandwidth_gb_per_s)));
  put("device_log_l2", log_of(d.l2_mib.value_or(4)));
  put("device_compute_capability", d.compute_capability.value_or(0));
  put("device_log_shared_memory", log_of(d.shared_memory_kib_per_sm.value_or(64)));
}

// What makes two kernels of a network equal in time.
struct GroupKey {
  std::array<double, 21> numbers;
  int what;
  bool operator==(const GroupKey&) const = default;
};
struct GroupHash {
  std::size_t operator()(const GroupKey& key) const {
    std::uint64_t h = 1469598103934665603ULL ^ std::uint64_t(key.what);
    for (const double number : key.numbers) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &number, sizeof bits);
      h = (h ^ bits) * 0x9E3779B97F4A7C15ULL;
      h ^= h >> 29;
    }
    return h;
  }
};

GroupKey group_key(const Kernel& k) {
  // clang-format off
  return {{k.launches, k.macs, k.flops, k.read_bytes, k.write_bytes, k.weight_bytes, k.output_elements, k.batch, k.m, k.n, k.k,
           k.kernel_area, k.stride, k.groups, k.input_channels, k.output_channels, k.spatial, k.inner, double(k.causal),
           k.serial_steps, double(kernel_function(k.label))},
          (int(k.kernel_class) * 100 + int(k.stage) * 20 + int(k.math)) * 2 + int(k.in_step)};
  // clang-format on
}

}  // namespace

double data_sheet_tflops(const Device& device, Math math) {
  for (const char* key : kPeakKeys[std::size_t(math)]) {
    if (key == nullptr) break;
    if (const auto found = device.peak_tflops.find(key); found != device.peak_tflops.end() && found->second > 0)
      return found->second;
  }
  return 1.0;
}

bool on_tensor_cores(Math math) {
  return math == Math::Tf32Tensor || math == Math::Fp16Tensor || math == Math::Bf16Tensor || math == Math::Fp8Tensor ||
         math == Math::Int8Tensor || math == Math::Int4Tensor;
}

bool has_tensor_rate(const Device& device, std::span<const char* const> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](const char* key) {
    return key != nullptr && std::string_view(key).ends_with("_tensor") && device.peak_tflops.contains(key);
  });
}

bool on_tensor_cores(Math math, const Device& device) {
  return on_tensor_cores(math) && has_tensor_rate(device, kPeakKeys[std::size_t(math)]);
}

int kernel_function(const char* label) {
  const std::string_view text(label);
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    if (kFunctions[i] == text) return int(i) + 1;
  }
  return 0;
}

double divisibility(double value) {
  auto number = static_cast<std::int64_t>(value);
  double power = 0;
  while (number > 0 && number % 2 == 0 && power < 6) {
    number /= 2;
    ++power;
  }
  return power;
}

bool in_groups(const Kernel& kernel) {
  return kernel.kernel_class == KernelClass::Conv && kernel.stage == Stage::Forward && kernel.groups > 1 &&
         kernel.input_channels > kernel.groups;
}

double ideal_kernel_us(const Kernel& kernel, const Device& device) { return ideal_of(kernel, device).total_us; }

const std::vector<std::string>& kernel_fact_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    visit_facts(Kernel{}, Device{}, false, [&](const char* name, double) { names.emplace_back(name); });
    return names;
  }();
  return kNames;
}

std::size_t kernel_fact_count() { return kernel_fact_names().size(); }

void extract_kernel_facts(const Kernel& kernel, const Device& device, bool host_included, std::span<float> out) {
  std::size_t at = 0;
  visit_facts(kernel, device, host_included, [&](const char*, double value) { out[at++] = float(value); });
}

FeatureSchema kernel_facts_schema() {
  static const FeatureSchema kSchema = kernel_facts_schema(schema_sample());
  return kSchema;
}

FeatureSchema kernel_facts_schema(const SchemaSample& sample) {
  ValueHash hash;
  for (const std::string& name : kernel_fact_names()) hash.add(name);
  for (const std::string_view function : kFunctions) hash.add(function);
  for (std::size_t c = 0; c < std::size_t(KernelClass::Count); ++c) hash.add(name_of(KernelClass(c)));
  std::vector<float> facts(kernel_fact_count());
  visit_kernels(sample, [&](const Kernel& kernel, const Device& device, bool in_run) {
    extract_kernel_facts(kernel, device, !in_run, facts);
    hash.add_all(facts);
    hash.add(ideal_kernel_us(kernel, device));
    hash.add_exact(in_groups(kernel) ? 1 : 0);
  });
  return {"kernel-facts", 1, hash.value()};
}

std::uint64_t kernel_key(const Kernel& kernel) { return GroupHash()(group_key(kernel)); }

std::vector<KernelGroup> group_kernels(std::span<const Kernel> kernels, std::vector<std::uint32_t>* group_of) {
  std::vector<KernelGroup> groups;
  std::unordered_map<GroupKey, std::size_t, GroupHash> seen;
  seen.reserve(kernels.size());
  for (const Kernel& k : kernels) {
    const GroupKey key = group_key(k);
    const auto [found, is_new] = seen.try_emplace(key, groups.size());
    if (is_new) groups.push_back({&k, 0});
    groups[found->second].runs += k.runs;
    if (group_of != nullptr) group_of->push_back(std::uint32_t(found->second));
  }
  return groups;
}

}  // namespace forerun
