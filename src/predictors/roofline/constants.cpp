// The shipped constants, read once from the embedded data/roofline/constants.json.
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/embedded.hpp"
#include "features/schema_sample.hpp"
#include "features/value_hash.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_roofline();

std::vector<NamedConstant> name_constants(RooflineConstants& c) {
  std::vector<NamedConstant> list = {
      {"unmeasured_compute", &c.unmeasured_compute},
      {"unmeasured_memory", &c.unmeasured_memory},
      {"smoothness", &c.smoothness},
      {"depth_plain", &c.depth_plain},
      {"depth_tensor", &c.depth_tensor},
      {"tile_16k", &c.tile_16k},
      {"tile_8k", &c.tile_8k},
      {"tile_4k", &c.tile_4k},
      {"tile_2k", &c.tile_2k},
      {"tile_256", &c.tile_256},
      {"split_cost", &c.split_cost},
      {"watts_per_tflops_nm", &c.watts_per_tflops_nm},
      {"winograd", &c.winograd},
      {"winograd_passes", &c.winograd_passes},
      {"score_cost", &c.score_cost},
      {"attention_block_us", &c.attention_block_us},
      {"decode_block_us", &c.decode_block_us},
      {"cache_block_speedup", &c.cache_block_speedup},
      {"intel_launch", &c.intel_launch},
      {"l2_speedup", &c.l2_speedup},
      {"block_speedup", &c.block_speedup},
      {"host_op_us", &c.host_op_us},
      {"overlap_power", &c.overlap_power},
      {"half_layout", &c.half_layout},
      {"tf32_layout", &c.tf32_layout},
      {"layout_us", &c.layout_us},
      {"misaligned", &c.misaligned},
      {"grouped", &c.grouped},
      {"weight_gradient", &c.weight_gradient},
      {"input_gradient", &c.input_gradient},
      {"power_compute", &c.power_compute},
      {"power_memory", &c.power_memory},
      {"power_base", &c.power_base},
      {"latency_width", &c.latency_width},
      {"memory_width", &c.memory_width},
      {"power_width", &c.power_width},
      {"energy_width", &c.energy_width},
  };
  c.classes.resize(std::size_t(KernelClass::Count));
  for (std::size_t i = 0; i < c.classes.size(); ++i) {
    const std::string name(name_of(KernelClass(i)));
    list.push_back({name + ".compute", &c.classes[i].compute});
    list.push_back({name + ".memory", &c.classes[i].memory});
    list.push_back({name + ".overhead_us", &c.classes[i].overhead_us});
  }
  return list;
}

const RooflineConstants& shipped_constants() {
  static const RooflineConstants kConstants = [] {
    RooflineConstants constants;
    const auto names = name_constants(constants);
    for (const EmbeddedFile& file : embedded_roofline()) {
      if (file.name != "constants.json") continue;
      const auto json = nlohmann::json::parse(file.bytes, nullptr, false);
      const auto values = json.is_object() ? json.find("constants") : json.end();
      if (values == json.end()) continue;
      for (const NamedConstant& constant : names) {
        if (const auto found = values->find(constant.name); found != values->end() && found->is_number())
          *constant.value = found->get<double>();
      }
    }
    return constants;
  }();
  return kConstants;
}

std::uint64_t roofline_hash() {
  static const std::uint64_t kHash = roofline_hash(shipped_constants());
  return kHash;
}

std::uint64_t roofline_hash(const RooflineConstants& of) {
  RooflineConstants constants = of;
  ValueHash hash;
  for (const NamedConstant& constant : name_constants(constants)) {
    if (constant.name.ends_with("_width")) continue;  // intervals change no answer
    hash.add(constant.name);
    hash.add(*constant.value);
  }
  const auto add = [&hash](const KernelTime& time) {
    hash.add_all(std::array{time.time_us, time.compute_us, time.memory_us, time.launch_us});
    hash.add_exact(std::uint64_t(time.bound));
  };
  const SchemaSample& sample = schema_sample();
  visit_kernels(sample, [&](const Kernel& kernel, const Device& device, bool in_run) {
    if (!in_run) add(time_kernel(kernel, device, constants));
  });
  for (const SampleCase& one : sample.cases) {
    const SampleRun& run = sample.runs[one.run];
    const RooflineEstimate r =
        estimate_roofline(*run.graph, run.kernels, run.workload, sample.devices[one.device], constants);
    for (const KernelTime& time : r.kernels) add(time);
    const MemoryEstimate& m = r.memory;
    hash.add_all(std::array{r.device_ms, r.host_ms, r.latency_eager_ms, r.latency_graph_ms, r.compute_share,
                            r.memory_share, r.power_eager_w, r.power_graph_w, m.weights_mb, m.activations_mb,
                            m.workspace_mb, m.gradients_mb, m.optimizer_mb, m.cache_mb, m.saved_mb, m.total_mb,
                            m.device_total_mb});
  }
  return hash.value();
}

}  // namespace forerun
