#include "advice/cost.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "advice/advice.hpp"
#include "base/embedded.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_prices();  // data/prices, sorted by name: the last one is the newest

namespace {

struct PriceTable {
  std::string date, source;
  // device -> kind -> cloud -> price; cloud "": the median over all.
  std::map<std::string, std::map<std::string, std::map<std::string, double, std::less<>>>, std::less<>> usd_per_hour;
  std::vector<std::string> clouds;
};

const PriceTable& newest_table() {
  static const PriceTable kTable = [] {
    PriceTable table;
    const auto files = embedded_prices();
    if (files.empty()) return table;
    const auto json = nlohmann::json::parse(files.back().bytes, nullptr, false);
    if (json.is_discarded()) return table;
    table.date = json.value("date", "");
    table.source = json.value("source", "");
    for (const auto& [device, kinds] : json.at("prices").items()) {
      for (const auto& [kind, row] : kinds.items()) {
        if (!row.contains("median_usd_per_hour")) continue;
        auto& prices = table.usd_per_hour[device][kind];
        prices[""] = row["median_usd_per_hour"].get<double>();
        for (const auto& [cloud, usd] : row.at("providers").items()) {
          prices[cloud] = usd.get<double>();
          table.clouds.push_back(cloud);
        }
      }
    }
    std::sort(table.clouds.begin(), table.clouds.end());
    table.clouds.erase(std::unique(table.clouds.begin(), table.clouds.end()), table.clouds.end());
    return table;
  }();
  return kTable;
}

}  // namespace

std::span<const std::string> price_clouds() { return newest_table().clouds; }

std::optional<Price> find_price(std::string_view device, std::string_view kind, std::string_view cloud) {
  const PriceTable& table = newest_table();
  const auto row = table.usd_per_hour.find(device);
  if (row == table.usd_per_hour.end()) return std::nullopt;
  const auto found = row->second.find(std::string(kind));
  if (found == row->second.end()) return std::nullopt;
  const auto price = found->second.find(cloud);
  if (price == found->second.end()) return std::nullopt;
  return Price{price->second, std::string(kind), table.date, table.source};
}

// A million samples, or generated tokens where serving was asked for.
Status advise_cost(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings) {
  const std::string cloud = input.options.cloud == "all" ? "" : input.options.cloud;
  auto price = find_price(input.device.id, input.options.price, cloud);
  if (input.options.usd_per_hour) {  // of the instance, not of its devices
    if (!price) price = Price{0, input.options.price, "", ""};
    price->usd_per_hour = *input.options.usd_per_hour / input.devices;
  }
  if (!price) {
    warnings.push_back("no " + input.options.price + " price is known for " + input.device.id +
                       (cloud.empty() ? "" : " at " + cloud));
    return ok();
  }
  const Estimate* rate = input.estimates.find(Metric::TokenRate);
  const double seconds =
      rate != nullptr ? 1 / rate->value : input.estimates.at(Metric::Latency).value / 1e3 / input.batch;
  advice.usd_per_hour = price->usd_per_hour * input.devices;
  advice.price_kind = price->kind;
  advice.price_date = price->date;
  advice.usd_per_million = *advice.usd_per_hour / 3600 * seconds * 1e6;
  return ok();
}

}  // namespace forerun
