// The shipped constants, read once from the embedded data/roofline/constants.json.
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_roofline();

const RooflineConstants& shipped_constants() {
  static const RooflineConstants kConstants = [] {
    RooflineConstants constants;
    constants.classes.resize(std::size_t(KernelClass::Count));
    for (const EmbeddedFile& file : embedded_roofline()) {
      if (file.name != "constants.json") continue;
      const auto json = nlohmann::json::parse(file.bytes, nullptr, false);
      if (json.is_discarded()) continue;
      constants.k_half = json.value("k_half", constants.k_half);
      constants.unmeasured_compute = json.value("unmeasured_compute", constants.unmeasured_compute);
      constants.unmeasured_memory = json.value("unmeasured_memory", constants.unmeasured_memory);
      constants.l2_speedup = json.value("l2_speedup", constants.l2_speedup);
      constants.host_op_us = json.value("host_op_us", constants.host_op_us);
      constants.overlap_power = json.value("overlap_power", constants.overlap_power);
      const auto classes = json.find("classes");
      if (classes == json.end()) continue;
      for (std::size_t i = 0; i < constants.classes.size(); ++i) {
        const auto row = classes->find(std::string(name_of(KernelClass(i))));
        if (row == classes->end()) continue;
        ClassConstants& c = constants.classes[i];
        c.compute = row->value("compute", c.compute);
        c.memory = row->value("memory", c.memory);
        c.overhead_us = row->value("overhead_us", c.overhead_us);
      }
    }
    return constants;
  }();
  return kConstants;
}

}  // namespace forerun
