// The shipped constants, read once from the embedded data/roofline/constants.json.
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_roofline();

std::vector<NamedConstant> name_constants(RooflineConstants& c) {
  std::vector<NamedConstant> list = {
      {"k_half", &c.k_half},
      {"unmeasured_compute", &c.unmeasured_compute},
      {"unmeasured_memory", &c.unmeasured_memory},
      {"l2_speedup", &c.l2_speedup},
      {"block_speedup", &c.block_speedup},
      {"host_op_us", &c.host_op_us},
      {"overlap_power", &c.overlap_power},
      {"half_layout", &c.half_layout},
      {"tf32_layout", &c.tf32_layout},
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
        if (const auto found = values->find(constant.name); found != values->end() && found->is_number()) *constant.value = found->get<double>();
      }
    }
    return constants;
  }();
  return kConstants;
}

}  // namespace forerun
