// What the clouds ask for the devices of a question: instances by name, and each cloud's median price of a device.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "advice/advice.hpp"
#include "advice/cost.hpp"
#include "base/embedded.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_clouds();  // data/clouds

std::span<const CloudInstance> cloud_instances() {
  static const std::vector<CloudInstance> kInstances = [] {
    std::vector<CloudInstance> list;
    for (const EmbeddedFile& file : embedded_clouds()) {
      const auto json = nlohmann::json::parse(file.bytes, nullptr, false);
      if (json.is_discarded()) continue;
      for (const auto& row : json.at("instances")) {
        list.push_back({row.at("cloud"), row.at("instance"), row.at("device"), row.at("gpus"), row.at("usd_per_hour"),
                        row.at("date"), row.at("source")});
      }
    }
    return list;
  }();
  return kInstances;
}

Status advise_vendors(const AdviceInput& input, Advice& advice, std::vector<std::string>&) {
  const AdviceOptions& options = input.options;
  if (options.cloud.empty()) return ok();
  const Estimate* rate = input.estimates.find(Metric::TokenRate);
  const double seconds =
      rate != nullptr ? 1 / rate->value : input.estimates.at(Metric::Latency).value / 1e3 / input.batch;
  const auto add = [&](const std::string& cloud, const std::string& name, std::int64_t gpus, double usd_per_hour,
                       const std::string& date) {
    if (options.cloud != "all" && options.cloud != cloud) return;
    VendorPrice row{cloud, name, gpus, std::int64_t(std::ceil(input.devices / double(gpus)))};
    row.usd_per_hour = double(row.instances) * usd_per_hour;
    row.usd_per_million = usd_per_hour / double(gpus) * input.devices / 3600 * seconds * 1e6;
    if (advice.hours_total) row.usd_total = row.usd_per_hour * *advice.hours_total;
    row.date = date;
    advice.vendors.push_back(std::move(row));
  };
  if (options.price == "on_demand") {
    for (const CloudInstance& i : cloud_instances()) {
      if (i.device == input.device.id) add(i.cloud, i.name, i.gpus, i.usd_per_hour, i.date);
    }
  }
  for (const std::string& cloud : price_clouds()) {
    if (const auto price = find_price(input.device.id, options.price, cloud))
      add(cloud, "", 1, price->usd_per_hour, price->date);
  }
  std::stable_sort(advice.vendors.begin(), advice.vendors.end(),
                   [](const VendorPrice& a, const VendorPrice& b) { return a.usd_per_million < b.usd_per_million; });
  return ok();
}

}  // namespace forerun
