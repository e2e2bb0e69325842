// How busy a device is, and what the clouds ask for it.
#include <fmt/format.h>

#include "cli/render_parts.hpp"

namespace forerun {

std::string use_line(const Utilisation& use) {
  const auto percent = [](double share) { return fmt::format("{:.0f} %", share * 100); };
  return fmt::format(
      "  busy {} of the time (launches {}, waiting for the host {}); tensor cores at {} of their peak, "
      "in use {} of the time; memory at {} of its bandwidth\n",
      percent(use.gpu_busy), percent(use.launch), percent(use.host), percent(use.tensor_core),
      percent(use.tensor_core_time), percent(use.memory_bandwidth));
}

std::string vendor_table(const std::vector<VendorPrice>& vendors) {
  if (vendors.empty()) return "";
  std::string text = fmt::format("\n{:<16}{:<18}{:>6}{:>8}{:>9}{:>11}{:>10}  {}\n", "cloud", "instance", "GPUs",
                                 "rented", "$/h", "$/million", "$ of run", "of");
  for (const VendorPrice& v : vendors) {
    text +=
        fmt::format("{:<16}{:<18}{:>6}{:>8}{:>9}{:>11}{:>10}  {}\n", v.cloud,
                    v.instance.empty() ? "one GPU, median" : v.instance, v.gpus, v.instances, number(v.usd_per_hour),
                    number(v.usd_per_million), v.usd_total ? number(*v.usd_total) : "-", v.date);
  }
  return text;
}

}  // namespace forerun
