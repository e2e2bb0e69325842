#include "features/transfer_facts.hpp"

#include <algorithm>
#include <cmath>

#include "features/schema_sample.hpp"
#include "features/shape_facts.hpp"
#include "features/value_hash.hpp"

namespace forerun {
namespace {

double fill_of(double waves) { return waves / std::ceil(std::max(waves, 1e-6)); }

// One statement per fact, visited for the names and for the numbers alike, so that they cannot differ.
template <typename Put>
void visit_facts(const Kernel& k, const Device& d, const KernelPhysics& p, bool host_included, Put put) {
  const double sms = std::max(1, d.sm_count);
  const double m = std::max(1.0, k.m), n = std::max(1.0, k.n), batch = std::max(1.0, k.batch);
  const bool product = k.m > 0 && k.macs > 0;
  const double large = std::ceil(m / 128) * std::ceil(n / 128) * batch,
               small = std::ceil(m / 64) * std::ceil(n / 64) * batch;
  put("class", double(k.kernel_class));
  put("function", double(kernel_function(k.label)));
  put("stage", double(k.stage));
  put("tensor_cores", on_tensor_cores(k.math, d) ? 1 : 0);
  put("half_precision", k.math == Math::Fp32 || k.math == Math::Tf32Tensor || k.math == Math::Fp64 ? 0 : 1);
  put("host_included", host_included ? 1 : 0);
  put("launches", k.launches);
  put("causal", k.causal ? 1 : 0);
  put("log_read_over_write", log_of(k.read_bytes) - log_of(k.write_bytes));
  visit_shape_facts(k, put);
  put("log_waves_128", product ? log_of(large / sms) : -8);
  put("log_waves_64", product ? log_of(small / sms) : -8);
  put("wave_fill_128", product ? fill_of(large / sms) : 0);
  put("wave_fill_64", product ? fill_of(small / sms) : 0);
  put("log_padding_128", product ? log_of(large * 128 * 128 / (m * n * batch)) : 0);
  put("log_padding_64", product ? log_of(small * 64 * 64 / (m * n * batch)) : 0);
  put("log_output_per_sm", log_of(k.output_elements / sms));
  put("log_physics_us", log_of(p.total_us));
  put("log_compute_over_memory", log_of(p.compute_us) - log_of(p.memory_us));
  put("launch_share", p.launch_us / std::max(1e-9, p.total_us));
  put("resident", p.resident);
  put("log_waves", log_of(p.waves));
  put("wave_fill", fill_of(p.waves));
  put("log_queries_per_key_head", log_of(batch / p.key_heads));
  put("log_key_heads_per_sm", log_of(p.key_heads / sms));
  put("winograd", p.winograd ? 1 : 0);
  put("log_writes_over_time",
      log_of(k.write_bytes / (std::max(1.0, d.memory_bandwidth_gb_per_s) * 1e3)) - log_of(p.total_us));
}

}  // namespace

const std::vector<std::string>& transfer_fact_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    visit_facts(Kernel{}, Device{}, KernelPhysics{}, false,
                [&](const char* name, double) { names.emplace_back(name); });
    return names;
  }();
  return kNames;
}

std::size_t transfer_fact_count() { return transfer_fact_names().size(); }

void extract_transfer_facts(const Kernel& kernel, const Device& device, const KernelPhysics& physics,
                            bool host_included, std::span<float> out) {
  std::size_t at = 0;
  visit_facts(kernel, device, physics, host_included, [&](const char*, double value) { out[at++] = float(value); });
}

FeatureSchema transfer_facts_schema() {
  static const FeatureSchema kSchema = transfer_facts_schema(schema_sample());
  return kSchema;
}

FeatureSchema transfer_facts_schema(const SchemaSample& sample, const ProductConstants& constants) {
  ValueHash hash;
  for (const std::string& name : transfer_fact_names()) hash.add(name);
  std::vector<float> facts(transfer_fact_count());
  visit_kernels(sample, [&](const Kernel& kernel, const Device& device, bool in_run) {
    const KernelPhysics physics = kernel_physics(kernel, device, {}, constants);
    extract_transfer_facts(kernel, device, physics, !in_run, facts);
    hash.add_all(facts);
    hash.add(physics.total_us);
    const std::string kind = transfer_kind(kernel, device, !in_run);
    hash.add(kind);
    hash.add(transfer_share(kind));
  });
  return {"transfer-facts", 1, hash.value()};
}

std::string transfer_kind(const Kernel& kernel, const Device& device, bool host_included) {
  return device.maker + "/" + std::string(name_of(kernel.kernel_class)) +
         (on_tensor_cores(kernel.math, device) ? "/tensor" : "/plain") + (host_included ? "/host" : "");
}

double transfer_share(std::string_view kind) {
  const bool matrix_product = kind.find("/linear/") != kind.npos || kind.find("/batched_matmul/") != kind.npos;
  if (kind.find("/conv/tensor") != kind.npos) return 0.5;  // taught by one device alone
  if (!matrix_product) return 0.8;
  return kind.find("/plain") == kind.npos ? 0.65 : 0.35;
}

}  // namespace forerun
